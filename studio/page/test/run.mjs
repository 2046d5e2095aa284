// Compiles the tests with esbuild and runs them with Node's test runner: `npm test`, or `npm test -- json address`.
// `npm run browser` and `npm run agreement` run those of the folder with this name.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const needsProgram = process.argv[2] === "--in";
const wanted = process.argv.slice(needsProgram ? 4 : 2);
const folder = needsProgram ? join(here, process.argv[3]) : here;
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".test.ts"))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .sort();
// Here, as the tests load libraries.
const to = mkdtempSync(join(here, "../node_modules/.test-"));
try {
  await build({
    entryPoints: names.map((name) => join(folder, name)),
    outdir: to,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    target: "node20",
    sourcemap: "inline",
    logLevel: "warning",
  });
  const files = names.map((name) => join(to, name.replace(/\.ts$/, ".mjs")));
  // A test that hangs ends, too.
  const minutes = { browser: 10, agreement: 120 }[process.argv[3]] ?? 1;
  const limits = [`--test-timeout=${minutes * 60_000}`, ...(needsProgram ? ["--test-concurrency=1"] : [])];
  const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...limits, ...files], {
    stdio: "inherit",
    env: { ...process.env, STUDIO_FILES: join(here, "files") },
  });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(to, { recursive: true, force: true });
}
