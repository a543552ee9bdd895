// Checks the arguments of HTTP handlers: a host, or a program that has mixed up its handlers, may pass something else.

import { OptionError } from "../../process/errors.js";
import { withMethod } from "../../process/options.js";

/** @throws OptionError */
export function checkRequest(request: Request): void {
  if (typeof (request as Request | undefined | null)?.method !== "string")
    throw new OptionError("request", request, "a Request");
}

/** Node's request and its response. @throws OptionError */
export function checkExchange(
  incoming: object,
  outgoing: {
    writeHead(status: number, headers: Record<string, string>): unknown;
    end(body?: string): unknown;
  },
): void {
  if (typeof incoming !== "object" || incoming === null || Array.isArray(incoming))
    throw new OptionError("incoming", incoming, "the request of a server of node:http");
  for (const method of ["writeHead", "end"] as const)
    withMethod("outgoing", outgoing, method, "the response of a server of node:http");
}
