// The script of the viewer's page is made from lib/testing/viewer/client, and is part of the library as a text.

import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { expect, it } from "vitest";

const root = new URL("../../../", import.meta.url);

/** The code of the page in one script, as TypeScript that exports it. */
async function scriptFile(): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("lib/testing/viewer/client/main.ts", root)),
    platform: "browser",
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
    onLog: (level, log) => {
      if (level === "warn") throw new Error(log.message);
    },
  });
  const { output } = await bundle.generate({ format: "iife", minify: true, comments: false });
  await bundle.close();
  const [{ code }] = output;
  if (/<\/script|<!--/i.test(code)) throw new Error("the code would end the script element that it is in");
  return `// Generated from client/ by spec/testing/viewer/script.spec.ts; after a change there, run it with --update.

export const SCRIPT: string =
  ${JSON.stringify(code.trim())};
`;
}

it("is as old as its source: after a change, run this spec with --update", async () => {
  await expect(await scriptFile()).toMatchFileSnapshot(
    fileURLToPath(new URL("lib/testing/viewer/script.ts", root)),
  );
});
