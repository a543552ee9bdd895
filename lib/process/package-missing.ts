// Optional packages: the error names a missing package, with its versions and the command that installs it.

import { SignalboxError } from "./errors.js";

/**
 * A part of the library needs a package that is not installed. It is an optional peer dependency, since most programs do without it.
 *
 * @remedy Install the package: the message has the command. If it is installed, `cause` says why it could not be loaded.
 */
export class PackageMissingError extends SignalboxError {
  static override readonly name: string = "PackageMissingError";
  readonly code = "ERR_PACKAGE_MISSING";
  /** The name of the package; several are divided by blanks. */
  readonly package: string;
  /** The versions that are supported, such as `^11.0.0`. */
  readonly versions: string;
  constructor(name: string, versions: string, purpose: string, cause?: unknown) {
    const names = name.split(" ");
    const what = names.length === 1 ? `the package ${name}` : `the packages ${names.join(" and ")}`;
    const all = names.map((one) => `${one}@${versions}`).join(" ");
    super(`${purpose} needs ${what} (${versions}): npm install ${all}`, { cause });
    this.package = name;
    this.versions = versions;
  }
}
