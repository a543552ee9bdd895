// What `npm run docs:dev` does besides VitePress: it notices changes in docs, and serves the pages of code.

import { existsSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vitepress";
import { pageOf } from "./paths.js";
import { sourcePage } from "./source-pages.js";
import { write } from "./stage.js";

/** @param pages - the folder of the pages that VitePress reads */
export function serve(root: string, pages: string): Plugin {
  return {
    name: "signalbox:serve",
    apply: "serve",
    configureServer(server) {
      const watcher = watch(join(root, "docs"), { recursive: true }, (_event, name) => {
        const path = `docs/${name?.replaceAll("\\", "/")}`;
        if (!path.endsWith(".md") || !existsSync(join(root, path))) return;
        write(join(pages, pageOf(path)), readFileSync(join(root, path), "utf8"));
      });
      server.httpServer?.once("close", () => watcher.close());
      server.middlewares.use((request, response, next) => {
        const path = /^\/source\/(.+)\.html(?:\?.*)?$/.exec(request.url ?? "")?.[1];
        if (path === undefined || path.includes("..") || !existsSync(join(root, path))) return next();
        response.setHeader("Content-Type", "text/html; charset=utf-8");
        response.end(sourcePage(root, path, ""));
      });
    },
  };
}
