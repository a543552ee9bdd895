export interface Guarantee {
  readonly number: string;
  readonly spec: string;
  readonly file: string | undefined;
}
export declare function guarantees(page: string): Guarantee[];
export declare function holderOf(guarantee: Guarantee, files: ReadonlySet<string>): string;
export declare function unheld(
  stated: readonly Guarantee[],
  files: ReadonlySet<string>,
  executedBy: (spec: string) => readonly string[] | undefined,
): string[];
