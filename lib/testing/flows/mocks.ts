// Bodies of steps that a test replaces.

import type { AnyFlow, FlowContext, PlacedStepOptions, StepContext } from "../../flow/index.js";

/** Stands in for the body of a step. */
export type StepMock = (step: StepContext) => unknown;

/** One call of a mocked step. */
export interface MockedCall {
  /** The flow that asked for the step. */
  readonly flowId: string;
  /** The step's key: its name, with `#2` and so on when the name was used before. */
  readonly key: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** A step that a test replaced. */
export class MockedStep {
  /** The name of the steps that it stands for. */
  readonly name: string;
  /** The calls so far, those before a crash included. */
  readonly calls: MockedCall[] = [];
  #mock: StepMock;

  /** @internal */
  constructor(name: string, mock: StepMock) {
    this.name = name;
    this.#mock = mock;
  }

  /** Another function from now on. */
  use(mock: StepMock): void {
    this.#mock = mock;
  }

  /** @internal */
  run(step: StepContext): unknown {
    this.calls.push({ flowId: step.flowId, key: step.key, attempt: step.attempt });
    return this.#mock(step);
  }
}

/** The definition, with the bodies of mocked steps replaced. Steps are looked up by name when they are asked for. */
export function mockable(flow: AnyFlow, mocks: ReadonlyMap<string, MockedStep>): AnyFlow {
  const { body } = flow;
  return { ...flow, body: (context, input) => body(mocked(context, mocks) as never, input) };
}

type Method = (...given: readonly unknown[]) => unknown;

function mocked(context: FlowContext<never, never>, mocks: ReadonlyMap<string, MockedStep>): unknown {
  return new Proxy(context, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      const method: Method = (...given) => Reflect.apply(value, target, given);
      switch (property) {
        case "step":
          return replacing(method, mocks);
        case "transaction":
          // A transaction that is mocked needs no SQL: it is a step.
          return replacing(method, mocks, (...given) => Reflect.apply(target.step, target, given as never));
        default:
          return method;
      }
    },
  });
}

/** The mock of a job runs here. */
function withoutPlace(options: unknown): unknown {
  if (typeof options !== "object" || options === null || !("on" in options)) return options;
  const {
    on: _on,
    program: _program,
    args: _args,
    ...rest
  } = options as unknown as PlacedStepOptions<readonly []>;
  return rest;
}

function replacing(method: Method, mocks: ReadonlyMap<string, MockedStep>, instead: Method = method): Method {
  return (name, ...rest) => {
    const mock = mocks.get(name as string);
    if (mock === undefined) return method(name, ...rest);
    return instead(name, (step: StepContext) => mock.run(step), withoutPlace(rest[1]));
  };
}
