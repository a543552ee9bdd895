// Who answers at a socket that several hosts of a program share.

import { expect, test } from "vitest";
import { type AdminService, Post } from "../../lib/admin/post.js";
import { requestLine, serve } from "../../lib/admin/protocol.js";

const { signal } = new AbortController();

/** Offers one operation, which answers with its own name; it is its own where the argument says so. */
function service(name: string, shares = true): AdminService {
  const operation = {
    args: ["of"],
    leave: "look" as const,
    run: async () => name,
    mine: async ({ of }: Readonly<Record<string, unknown>>) => of === name,
  };
  return { name: shares ? "shared" : name, shares, operations: new Map([["who", operation]]) };
}

test("the host answers whose execution it is, else the first; the socket passes on in the order of their coming", async () => {
  const opened: string[] = [];
  const join = (name: string, shares?: boolean) =>
    Post.join("/a.sock", { service: service(name, shares), open: () => void opened.push(name) });
  const [a, b, c] = [join("a"), join("b"), join("c", false)];
  const who = async (of: string) => JSON.parse(await serve(b.post, requestLine(1, "who", { of }), signal)).ok;
  expect([await who("a"), await who("b"), await who("c"), await who("nobody")]).toEqual(["a", "b", "c", "a"]);
  expect(opened).toEqual(["a"]);
  b.leave();
  expect([opened, await who("b")]).toEqual([["a"], "a"]);
  a.leave();
  a.leave();
  expect([opened, await who("a")]).toEqual([["a", "c"], "c"]);
  // Another one that does not share tries for itself, and leaves the first alone.
  const other = join("c", false);
  expect([opened, other.post === c.post]).toEqual([["a", "c", "c"], false]);
  other.leave();
  c.leave();
  expect(JSON.parse(await serve(c.post, requestLine(1, "who", {}), signal)).error.message).toContain(
    "there is no operation",
  );
  join("d").leave();
  expect(opened).toEqual(["a", "c", "c", "d"]);
});
