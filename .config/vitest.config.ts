import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  root: new URL("..", import.meta.url).pathname,
  resolve: { alias: { signalbox: new URL("../lib/index.ts", import.meta.url).pathname } },
  test: { include: ["spec/**/*.spec.ts"], pool: "forks", testTimeout: 30_000 },
});
export default config;
