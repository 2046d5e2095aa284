// Builds the page into ../dist: the same input gives the same bytes.
import { build } from "esbuild";
import { copyFile, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const to = process.argv[2] ?? join(here, "../dist");

await rm(to, { recursive: true, force: true });
await mkdir(to, { recursive: true });
await build({
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
});
await copyFile(join(here, "src/index.html"), join(to, "index.html"));
