// What a site allows: the rules for all crawlers in its robots.txt, read once for each origin.

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Says whether a page may be fetched. Rejects when the rules cannot be read. */
export function robots(fetch: Fetch): (url: string, signal: AbortSignal) => Promise<boolean> {
  const rules = new Map<string, readonly string[]>();
  return async (url, signal) => {
    const { origin, pathname } = new URL(url);
    let disallowed = rules.get(origin);
    if (disallowed === undefined) {
      disallowed = await read(await fetch(`${origin}/robots.txt`, { signal }));
      rules.set(origin, disallowed);
    }
    return !disallowed.some((path) => pathname.startsWith(path));
  };
}

async function read(response: Response): Promise<readonly string[]> {
  const text = await response.text();
  if (response.status >= 500) throw new Error(`robots.txt: status ${response.status}`);
  if (!response.ok) return []; // no rules
  const paths: string[] = [];
  let isForAll = false;
  for (const line of text.split("\n")) {
    const [, name = "", value = ""] = /^\s*([\w-]+)\s*:\s*([^#\s]*)/.exec(line) ?? [];
    if (name.toLowerCase() === "user-agent") isForAll = value === "*";
    else if (isForAll && name.toLowerCase() === "disallow" && value !== "") paths.push(value);
  }
  return paths;
}
