// The files of the page. They are built into the package, loaded with the first request for one, and compressed once.

import { hash } from "../../process/stable-hash.js";
import { headersOf } from "./headers.js";

/** The texts of the files, as the build writes them. */
export interface PageTexts {
  readonly INDEX: string;
  readonly SCRIPT: string;
  readonly STYLE: string;
  readonly ICON: string;
}

interface PageFile {
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
  /** Of its content: without the quotes of an ETag. */
  readonly tag: string;
}

/** The empty name is that of the page itself. */
export type PageFileName = "" | "app.js" | "app.css" | "icon.svg";

const FILES: { readonly [name in PageFileName]: readonly [text: keyof PageTexts, type: string] } = {
  "": ["INDEX", "text/html; charset=utf-8"],
  "app.js": ["SCRIPT", "text/javascript; charset=utf-8"],
  "app.css": ["STYLE", "text/css; charset=utf-8"],
  "icon.svg": ["ICON", "image/svg+xml"],
};

export class PageFiles {
  readonly #load: () => Promise<PageTexts>;
  #files: Promise<ReadonlyMap<string, PageFile>> | undefined;

  constructor(load: () => Promise<PageTexts>) {
    this.#load = load;
  }

  /** Whether the page has a file of this name. */
  static has(name: string): name is PageFileName {
    return Object.hasOwn(FILES, name);
  }

  async answer(name: PageFileName, request: Request): Promise<Response> {
    this.#files ??= this.#load().then(filesOf);
    let file: PageFile;
    try {
      file = (await this.#files).get(name) as PageFile;
    } catch {
      // A checkout that was not built. The next request looks again.
      this.#files = undefined;
      const text =
        "The page of the observer is not built: run `node .config/observer-page.mjs` in the checkout.\n";
      return new Response(text, {
        status: 503,
        headers: headersOf({ "content-type": "text/plain; charset=utf-8" }),
      });
    }
    return responseOf(file, request);
  }
}

function responseOf({ type, plain, gzipped, tag }: PageFile, { method, headers }: Request): Response {
  const isGzipped = takesGzip(headers.get("accept-encoding") ?? "");
  const etag = isGzipped ? `"${tag}-gzip"` : `"${tag}"`;
  // The browser asks each time whether the file is still the same: a deploy shows at once.
  const own = { "cache-control": "no-cache", etag, vary: "accept-encoding" };
  const known = (headers.get("if-none-match") ?? "").split(",").map((one) => one.trim().replace(/^W\//, ""));
  if (known.includes(etag) || known.includes("*"))
    return new Response(null, { status: 304, headers: headersOf(own) });
  const bytes = isGzipped ? gzipped : plain;
  const all = headersOf({
    ...own,
    "content-type": type,
    "content-length": String(bytes.byteLength),
    ...(isGzipped && { "content-encoding": "gzip" }),
  });
  return new Response(method === "HEAD" ? null : bytes, { headers: all });
}

function takesGzip(encodings: string): boolean {
  const gzip = encodings.split(",").find((one) => /^\s*gzip\s*(?:;|$)/i.test(one));
  return gzip !== undefined && !/;\s*q=0(?:\.0*)?\s*$/i.test(gzip);
}

async function filesOf(texts: PageTexts): Promise<ReadonlyMap<string, PageFile>> {
  const files = Object.entries(FILES).map(async ([name, [key, type]]) => {
    const text = texts[key];
    const plain = new TextEncoder().encode(text);
    const tag = `${hash(text).toString(36)}${hash(text, text.length).toString(36)}`;
    return [name, { type, plain, gzipped: await gzip(plain), tag }] as const;
  });
  return new Map(await Promise.all(files));
}

async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const zipped = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(zipped).arrayBuffer());
}
