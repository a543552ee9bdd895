// The headers of every response of an observer.

/**
 * The page loads its own files and asks its own host, and nothing else: a label that is markup, if one ever became part of the page, could load and
 * send nothing. See https://www.w3.org/TR/CSP3/.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const COMMON: Readonly<Record<string, string>> = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  // The address holds the token until the page has read it.
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** The headers of a response, with those of its own. Data is never stored. */
export function headersOf(own: Readonly<Record<string, string>>): Record<string, string> {
  return { "cache-control": "no-store", ...COMMON, ...own };
}
