// Types of the forms of commands: what was given is what the operation takes.

import { expectTypeOf, test } from "vitest";
import type { Given } from "../../lib/cli/shell/arguments.js";
import type { CommandContext } from "../../lib/cli/shell/context.js";
import { CommandKit } from "../../lib/cli/shell/kit.js";
import { most } from "../../lib/cli/shell/values.js";

interface Operations {
  list(options?: { readonly limit?: number; readonly prefix?: string }): Promise<number>;
  drop(options: { readonly reason: string }): Promise<number>;
}
const kit = new CommandKit<CommandContext<Operations>, Operations>();
const named = { summary: "", text: String } as const;
const name = { value: "NAME", help: "" } as const;

test("options have the names and the types that operations have for them", () => {
  type Options = {
    readonly after: typeof name & { readonly gives: "behind" };
    readonly limit: ReturnType<typeof most>;
    readonly id: typeof name & { readonly many: true };
    readonly all: { readonly help: "" };
    readonly reason: typeof name & { readonly needed: "why?" };
  };
  expectTypeOf<Given<Options>["behind"]>().toEqualTypeOf<string | undefined>();
  expectTypeOf<Given<Options>["limit"]>().toEqualTypeOf<number | undefined>();
  expectTypeOf<Given<Options>["id"]>().toEqualTypeOf<readonly string[] | undefined>();
  expectTypeOf<Given<Options>["all"]>().toEqualTypeOf<true | undefined>();
  expectTypeOf<Given<Options>["reason"]>().toEqualTypeOf<string>();
});

test("an option of another type, a needed one that may be absent, and options that the operation does not have at all do not compile", () => {
  kit.ask({ ...named, options: { prefix: name, limit: most("") }, ask: (on, _, given) => on.list(given) });
  // @ts-expect-error its limit is a number, and this one a text
  kit.ask({ ...named, options: { limit: name }, ask: (on, _, given) => on.list(given) });
  // @ts-expect-error it has no option `name`
  kit.ask({ ...named, options: { name }, ask: (on, _, given) => on.list(given) });
  kit.ask({
    ...named,
    options: { reason: { ...name, needed: "why?" } },
    ask: (on, _, given) => on.drop(given),
  });
  // @ts-expect-error the reason may be absent
  kit.ask({ ...named, options: { reason: name }, ask: (on, _, given) => on.drop(given) });
});
