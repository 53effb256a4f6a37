// Bundle the page into ../static: one script, one style sheet, the page itself.

import { build } from "esbuild";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const out = new URL("../static/", import.meta.url).pathname;
const here = new URL("./", import.meta.url).pathname;
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await build({
  entryPoints: [`${here}main.ts`],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "inline",
  logLevel: "warning",
  outfile: `${out}cockpit.js`,
});
const style = [`${here}node_modules/uplot/dist/uPlot.min.css`, `${here}style.css`].map((file) => readFileSync(file, "utf8"));
writeFileSync(`${out}cockpit.css`, style.join("\n"));
cpSync(`${here}index.html`, `${out}index.html`);
