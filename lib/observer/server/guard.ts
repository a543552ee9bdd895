// Which requests the observer takes: a pure decision, before anything else is done for a request.
//
// A browser sends requests for pages of any origin. So a request must name a host that is allowed, or a foreign name that leads to this machine
// would make the observer part of a foreign page (DNS rebinding); it must not come from a page of another origin; and what tells or changes
// anything needs the token, which no browser sends by itself.

/** What the decision looks at. */
export interface GuardedRequest {
  readonly method: string;
  /** Whether it asks for more than the files of the page. */
  readonly isApi: boolean;
  /** Headers. Undefined: it has no such header. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentLength: string | undefined;
}

export interface GuardRules {
  readonly token: string;
  /** Hosts that are allowed beside those of the loopback: names or addresses, with a port where only that one is allowed. */
  readonly hosts: readonly string[];
  /** Whether every address of the network is an allowed host: a name can be made to lead here, an address cannot. */
  readonly addresses: boolean;
  readonly bodyBytes: number;
}

/** Why a request is not taken. */
export interface GuardRefusal {
  readonly status: 400 | 401 | 403 | 405 | 413 | 415;
  readonly message: string;
  /** Headers that belong to the status. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Says why a request is refused; undefined when it may go on. */
export function refusalOf(request: GuardedRequest, rules: GuardRules): GuardRefusal | undefined {
  const { method, host, isApi } = request;
  if (host === undefined || !isAllowedHost(host, rules))
    return {
      status: 403,
      message: "this host is not allowed: list it in the option `hosts` of the observer",
    };
  const allowed = isApi ? ["POST"] : ["GET", "HEAD"];
  if (!allowed.includes(method))
    return { status: 405, message: `only ${allowed.join(" and ")}`, headers: { allow: allowed.join(", ") } };
  return isApi ? refusalOfApi(request, host, rules) : undefined;
}

function refusalOfApi(request: GuardedRequest, host: string, rules: GuardRules): GuardRefusal | undefined {
  const { origin, fetchSite, authorization, contentType = "", contentLength } = request;
  if (!isOwnOrigin(origin, host, rules) || (fetchSite !== undefined && fetchSite !== "same-origin"))
    return { status: 403, message: "pages of another origin may not ask the observer" };
  if (!isToken(authorization, rules.token))
    return {
      status: 401,
      message: "the token is missing or wrong: open the address that the observer has printed",
      headers: { "www-authenticate": "Bearer" },
    };
  // A form of a foreign page cannot send this type.
  if (!/^application\/json\s*(?:;|$)/i.test(contentType))
    return { status: 415, message: "the content-type must be application/json" };
  if (contentLength === undefined) return undefined;
  if (!/^\d+$/.test(contentLength)) return { status: 400, message: "the content-length must be a number" };
  return Number(contentLength) <= rules.bodyBytes ? undefined : tooLong(rules.bodyBytes);
}

/** The refusal of a body that is too long. */
export function tooLong(bodyBytes: number): GuardRefusal {
  return { status: 413, message: `a request may have ${bodyBytes} bytes` };
}

/** Whether an address or name, without a port, is one of the loopback: it leads to this machine from this machine alone. */
export function isLoopback(name: string): boolean {
  return name === "localhost" || name === "::1" || name === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/** Whether the Host header names a host that is allowed. */
function isAllowedHost(host: string, { hosts, addresses }: GuardRules): boolean {
  const given = host.toLowerCase();
  const name = nameOf(given);
  if (name === undefined) return false;
  if (isLoopback(name) || (addresses && isAddress(name))) return true;
  return hosts.some((one) => {
    const allowed = one.toLowerCase();
    return allowed === given || allowed === name || `[${allowed}]` === name;
  });
}

/** The host without its port. Undefined: it is none. */
function nameOf(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(host)?.[1];
}

function isAddress(name: string): boolean {
  return name.startsWith("[") || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name);
}

/**
 * Whether an Origin header names this host, or one of those that are listed: a proxy may give the request another Host. No header is no page:
 * browsers send one with each POST.
 */
function isOwnOrigin(origin: string | undefined, host: string, { hosts }: GuardRules): boolean {
  if (origin === undefined) return true;
  const own = /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase())?.[1];
  if (own === undefined) return false;
  if (own === host.toLowerCase()) return true;
  const name = nameOf(own);
  return hosts.some((one) => one.toLowerCase() === own || one.toLowerCase() === name);
}

function isToken(authorization: string | undefined, token: string): boolean {
  const [, given = ""] = /^bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
  return isSame(given, token);
}

/** Compares in a time that depends on the length of the token alone: how long it takes must not tell how much of a guess is right. */
function isSame(given: string, token: string): boolean {
  let differs = given.length ^ token.length;
  for (let i = 0; i < token.length; i++) differs |= (given.charCodeAt(i) || 0) ^ token.charCodeAt(i);
  return differs === 0;
}
