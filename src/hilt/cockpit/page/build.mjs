// Bundle the page into ../static: one script, one style sheet, the page itself.

import { build } from "esbuild";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const out = new URL("../static/", import.meta.url).pathname;
const here = new URL("./", import.meta.url).pathname;
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const { metafile } = await build({
  entryPoints: [`${here}main.ts`],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "inline",
  logLevel: "warning",
  outfile: `${out}cockpit.js`,
  metafile: true,
});
const style = [`${here}node_modules/uplot/dist/uPlot.min.css`, `${here}style.css`].map((file) => readFileSync(file, "utf8"));
writeFileSync(`${out}cockpit.css`, style.join("\n"));
cpSync(`${here}index.html`, `${out}index.html`);

// Third-party code ships with its licences: those of every package in the bundle, as reported by the bundler.
const packages = new Set(["uplot"]); // its style sheet
for (const file of Object.keys(metafile.inputs)) {
  const found = file.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) packages.add(found[1]);
}
const licences = [...packages].sort().map((name) => {
  const folder = `${here}node_modules/${name}/`;
  const { version, license } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
  const text = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
  if (!license || !text) throw new Error(`${name} has no licence text to ship with it`);
  return `${name} ${version} (${license})\n\n${readFileSync(folder + text, "utf8").trim()}\n`;
});
writeFileSync(`${out}LICENSES.txt`, `The cockpit's page contains these packages.\n\n${licences.join(`\n${"-".repeat(80)}\n\n`)}`);
