// The address of a view, in the fragment of the page's URL: `#/process?id=shop.7`. The server never sees it.

export interface Route {
  /** The name of the page. Empty: none was given. */
  readonly page: string;
  /** What of the page is shown: what is selected, sorted, searched for. */
  readonly params: Readonly<Record<string, string>>;
}

/** Changes of parameters. Undefined, null and an empty text remove one. */
export type Changes = Readonly<Record<string, string | number | boolean | undefined | null>>;

/** Reads a fragment. Text that is no address is the address of no page. */
export function parseRoute(hash: string): Route {
  const found = /^#?\/([\w-]*)(?:\?(.*))?$/s.exec(hash);
  if (found === null) return { page: "", params: {} };
  return { page: found[1] ?? "", params: Object.fromEntries(new URLSearchParams(found[2] ?? "")) };
}

/** The fragment of a view: the same view has the same address. */
export function formatRoute(page: string, params: Changes = {}): string {
  const kept = Object.entries(params).flatMap(([name, value]) =>
    value === undefined || value === null || value === "" || value === false
      ? []
      : [[name, String(value)] as [string, string]],
  );
  const query = new URLSearchParams(kept.sort(([a], [b]) => (a < b ? -1 : 1))).toString();
  return `#/${page}${query === "" ? "" : `?${query}`}`;
}

/** A view of the same page with other parameters. */
export function changedRoute({ page, params }: Route, changes: Changes): Route {
  return parseRoute(formatRoute(page, { ...params, ...changes }));
}

/** The token that the URL which a service prints has in its fragment, and the fragment without it. */
export function takeToken(hash: string): { readonly token: string | undefined; readonly rest: string } {
  const found = /^#token=([^/&]*)&?(\/.*)?$/s.exec(hash);
  if (found === null) return { token: undefined, rest: hash };
  const token = decoded(found[1] ?? "");
  return { token: token === "" ? undefined : token, rest: found[2] === undefined ? "" : `#${found[2]}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that encodes nothing is part of the token.
    return text;
  }
}
