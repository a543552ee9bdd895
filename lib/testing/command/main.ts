#!/usr/bin/env node
// The program `signalbox`.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { command } from "./command.js";

process.exitCode = await command(process.argv.slice(2), {
  read: (path) => readFileSync(path, "utf8"),
  write: (path, text) => {
    mkdirSync(dirname(resolve(path)), { recursive: true });
    writeFileSync(path, text);
  },
  print: (text) => console.log(text),
  complain: (text) => console.error(text),
  load: (module) => import(module.startsWith("file:") ? module : pathToFileURL(resolve(module)).href),
  replay: async (scenario, options, token) => {
    // Loaded only here: it needs fast-check, and takes hold of the host.
    const { explore } = await import("../exploration/explore.js");
    return explore(scenario, { ...options, replay: token }).then(
      () => undefined,
      (error: unknown) => error,
    );
  },
});
