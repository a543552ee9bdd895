// The packages that the command loads when it needs them.

import { expect, test } from "vitest";
import { Misuse } from "../../../lib/cli/shell/arguments.js";
import { installed, packages } from "../../../lib/cli/storm/program.js";

test("a package that is not installed is named, with the command that installs it [N1474]", async () => {
  const missing = installed("rolldown", () => import(`./${"not-installed"}.js`));
  await expect(missing).rejects.toThrow(Misuse);
  await expect(missing).rejects.toThrow("this command needs the package rolldown: npm install rolldown (");
});

test("those of the command are there", async () => {
  expect(await packages.bundler()).toMatchObject({ rolldown: expect.any(Function) });
  expect(await packages.zip()).toMatchObject({
    zipSync: expect.any(Function),
    unzipSync: expect.any(Function),
  });
});
