import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  root: new URL("..", import.meta.url).pathname,
  resolve: {
    alias: [
      { find: /^signalbox$/, replacement: new URL("../lib/index.ts", import.meta.url).pathname },
      { find: /^signalbox\/(\w+)$/, replacement: new URL("../lib/$1/index.ts", import.meta.url).pathname },
    ],
  },
  test: {
    include: ["spec/**/*.spec.ts"],
    pool: "forks",
    testTimeout: 30_000,
    // The counts for the closing line of .ci/run.
    reporters: process.env["CI"] === "true" ? ["default", ["json", { outputFile: ".build/vitest.json" }]] : ["default"],
  },
});
export default config;
