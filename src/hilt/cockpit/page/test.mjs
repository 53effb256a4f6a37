// Run tests/*.test.ts with Node's own runner: bundled into one file beside the packages, run, deleted.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const here = new URL("./", import.meta.url).pathname;
const out = `${here}node_modules/.tests.mjs`;
const names = readdirSync(`${here}tests`).filter((name) => name.endsWith(".test.ts"));
await build({
  stdin: { contents: names.map((name) => `import "./tests/${name}";`).join("\n"), resolveDir: here, loader: "ts" },
  bundle: true,
  platform: "node",
  format: "esm",
  outfile: out,
  logLevel: "warning",
});
const { status } = spawnSync(process.execPath, ["--test", out], { stdio: "inherit" });
rmSync(out, { force: true });
process.exit(status ?? 1);
