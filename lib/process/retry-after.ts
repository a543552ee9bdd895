// How long an error asks to wait before the next attempt: one answer for retry policies, routes of pipelines and steps of flows. Pure.

/** The longest wait that an error may ask of a route, or of a step of a flow: an hour. */
export const RETRY_AFTER_MOST_MS = 3_600_000;

/**
 * How many milliseconds an error asks to wait: its property `retryAfterMs`, or else the header `Retry-After` of its `response`, or of
 * itself. Undefined: it does not ask.
 *
 * @param wallMs - milliseconds since 1970, for a date of a response that does not say when it was sent
 */
export function retryAfterOf(error: unknown, wallMs: number): number | undefined {
  // An error may be a Proxy that throws at every look.
  try {
    const asked = (error as { readonly retryAfterMs?: unknown } | null | undefined)?.retryAfterMs;
    // A server may send any value: neither NaN nor a time in the past is a wait.
    if (typeof asked === "number") return asked > 0 ? asked : undefined;
    const { response, headers } = error as { readonly response?: { headers?: unknown }; headers?: unknown };
    return retryAfterIn(response?.headers ?? headers, wallMs);
  } catch {
    return undefined;
  }
}

/** The wait in milliseconds that an error asks of a route or a step: 0 if none, at most {@link RETRY_AFTER_MOST_MS}. */
export function askedWait(error: unknown, wallMs: number): number {
  return Math.min(Math.ceil(retryAfterOf(error, wallMs) ?? 0), RETRY_AFTER_MOST_MS);
}

/** The wait that `Retry-After` of these headers asks for, in milliseconds from when they were sent. @param headers - `Headers`, or an object with names in lower case */
export function retryAfterIn(headers: unknown, wallMs: number): number | undefined {
  const text = headerOf(headers, "retry-after");
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000 || undefined;
  const at = httpDate(text);
  if (at === undefined) return undefined;
  // The clock of the server may be wrong, and its header `Date` is as wrong.
  const waitMs = at - (httpDate(headerOf(headers, "date")) ?? wallMs);
  return waitMs > 0 ? waitMs : undefined;
}

function headerOf(headers: unknown, name: string): string {
  const given = headers as { readonly get?: unknown } & Record<string, unknown>;
  const value = typeof given?.get === "function" ? given.get(name) : given?.[name];
  return typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
}

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
const DATE = /^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;

/** A date of HTTP, such as `Sun, 06 Nov 1994 08:49:37 GMT`, in milliseconds since 1970. RFC 9110, section 5.6.7. */
export function httpDate(text: string): number | undefined {
  const [, day, name = "", year, hours, minutes, seconds] = DATE.exec(text) ?? [];
  const month = MONTHS.indexOf(name) / 3;
  if (day === undefined || !Number.isInteger(month) || month < 0) return undefined;
  const days = daysSince1970(Number(year), month, Number(day));
  return (((days * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
}

/** Years begin in March here, so that the day that may be missing is the last. Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". */
function daysSince1970(year: number, month: number, day: number): number {
  const from = month < 2 ? year - 1 : year;
  const era = Math.floor(from / 400);
  const ofEra = from - era * 400;
  const ofYear = Math.floor((153 * ((month + 10) % 12) + 2) / 5) + day - 1;
  return era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468;
}
