// The files of the page, as they are served.

import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { PageFiles, type PageTexts } from "../../../lib/observer/server/page-files.js";

const TEXTS: PageTexts = {
  INDEX: "<!doctype html><title>observer</title>",
  SCRIPT: `console.log("${"observer ".repeat(200)}");`,
  STYLE: "body { margin: 0 }",
  ICON: "<svg xmlns='http://www.w3.org/2000/svg'/>",
};
const files = new PageFiles(async () => TEXTS);
type Name = Parameters<PageFiles["answer"]>[0];
const get = (name: Name, headers: Record<string, string> = {}, method = "GET"): Promise<Response> =>
  files.answer(name, new Request(`http://localhost/${name}`, { method, headers }));

describe("the files of the page", () => {
  it.each([
    ["", "text/html; charset=utf-8", TEXTS.INDEX],
    ["app.js", "text/javascript; charset=utf-8", TEXTS.SCRIPT],
    ["app.css", "text/css; charset=utf-8", TEXTS.STYLE],
    ["icon.svg", "image/svg+xml", TEXTS.ICON],
  ] as const)("have their type and length: %j [N1578]", async (name, type, text) => {
    const response = await get(name);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.headers.get("content-length")).toBe(String(text.length));
    expect(await response.text()).toBe(text);
    const head = await get(name, {}, "HEAD");
    expect(head.headers.get("content-length")).toBe(String(text.length));
    expect(await head.text()).toBe("");
  });

  it("are compressed for those who take that, once [N1578]", async () => {
    const response = await get("app.js", { "accept-encoding": "br, gzip;q=0.8" });
    expect(response.headers.get("content-encoding")).toBe("gzip");
    expect(response.headers.get("vary")).toBe("accept-encoding");
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect(bytes.length).toBe(Number(response.headers.get("content-length")));
    expect(bytes.length).toBeLessThan(TEXTS.SCRIPT.length / 4);
    expect(gunzipSync(bytes).toString()).toBe(TEXTS.SCRIPT);
    for (const encoding of ["br", "gzip;q=0", "gzip; q=0.0", "xgzip"])
      expect(
        (await get("app.js", { "accept-encoding": encoding })).headers.get("content-encoding"),
      ).toBeNull();
  });

  it("are not sent again to who has them, and are when they have changed [N1578]", async () => {
    for (const encoding of ["gzip", ""]) {
      const etag = (await get("app.js", { "accept-encoding": encoding })).headers.get("etag") as string;
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const response = await get("app.js", { "accept-encoding": encoding, "if-none-match": known });
        expect(response.status).toBe(304);
        expect(response.headers.get("etag")).toBe(etag);
        expect(await response.text()).toBe("");
      }
      const changed = new PageFiles(async () => ({ ...TEXTS, SCRIPT: `${TEXTS.SCRIPT} ` }));
      const request = new Request("http://localhost/app.js", {
        headers: { "accept-encoding": encoding, "if-none-match": etag },
      });
      expect((await changed.answer("app.js", request)).status).toBe(200);
    }
  });

  it("that are not built yet are 503 with a text, and are looked for again [N1578]", async () => {
    let isBuilt = false;
    const late = new PageFiles(async () => {
      if (!isBuilt) throw new Error("there is no such module");
      return TEXTS;
    });
    const request = new Request("http://localhost/");
    const response = await late.answer("", request);
    expect(response.status).toBe(503);
    expect(await response.text()).toContain(".config/observer-page.mjs");
    isBuilt = true;
    expect((await late.answer("", request)).status).toBe(200);
  });
});
