// Builds the page into ../dist, or into the folder that is given: the same input gives the same bytes.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const to = process.argv[2] ?? join(here, "../dist");

const { outputFiles } = await build({
  absWorkingDir: here,
  entryPoints: { studio: "src/main.tsx" },
  outdir: to,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome123", "firefox128", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  write: false,
});

/** The licences of the libraries that the page contains, as its bundle names them. */
async function licences() {
  const parts = ["The page of Superstep's studio contains these libraries.\n"];
  for (const name of ["preact", "@preact/signals", "@preact/signals-core"]) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const text = await readFile(join(folder, "LICENSE"), "utf8");
    parts.push(`${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return parts.join("\n");
}

const files = new Map([
  ["index.html", await readFile(join(here, "src/index.html"))],
  ...outputFiles.map(({ path, contents }) => [path.slice(to.length + 1), contents]),
]);
const sums = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, bytes]) => `${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`);
files.set("SHA256SUMS", sums.join(""));
files.set("licences.txt", await licences());

await rm(to, { recursive: true, force: true });
await mkdir(to, { recursive: true });
for (const [name, bytes] of files) await writeFile(join(to, name), bytes);
