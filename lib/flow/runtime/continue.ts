// How `flow.continueAsNew` leaves the code: as a throw that no user code should meet as an error.

/** Thrown by `flow.continueAsNew`. Code that catches everything must throw it on. */
export class ContinueAsNew {
  readonly input: unknown;
  constructor(input: unknown) {
    this.input = input;
  }
}
