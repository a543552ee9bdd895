// The drawing of a state machine: its states, its start and each declared target.

import { defineStateMachine, startIn, to } from "signalbox";
import { describe, expect, it } from "vitest";
import { Payment } from "./payment.js";

describe("the drawing of a state machine", () => {
  it("has a node for each state and an arrow for each declared target, in Mermaid [B25]", () => {
    const lines = Payment.toMermaid().split("\n");
    expect(lines.slice(0, 10)).toEqual([
      "flowchart LR",
      '  n1((" "))',
      '  n2("waiting")',
      '  n3("charging")',
      '  n4("paid")',
      '  n5("declined")',
      '  n1 -->|" "| n2',
      '  n2 -->|"pay"| n3',
      '  n3 -->|"charged"| n4',
      '  n3 -->|"failed<br/>tooLate"| n5',
    ]);
    expect(lines[10]).toBe('  n5 -->|"pay"| n3');
    expect(Payment.toMermaid()).toBe(Payment.toMermaid());
  });

  it("is the same for Graphviz, with the name of the machine", () => {
    const dot = Payment.toDot({ direction: "TB" });
    expect(dot).toContain('digraph "payment" {');
    expect(dot).toContain("rankdir=TB;");
    expect(dot).toContain('"charging" -> "declined" [label="failed\\ntooLate"');
  });

  it("draws a handler that may stay, and a start in one of several states", () => {
    type S = { name: "a" } | { name: "b" };
    const Loop = defineStateMachine<S, { type: "go" }>({
      init: startIn(["a", "b"], () => ({ name: "a" })),
      states: {
        a: { on: { go: to(["a", "b"], (state, _event, m) => m.next(state)) } },
        b: { on: { go: "postpone" } },
      },
    });
    expect(Loop.toMermaid({ direction: "TB" }).split("\n").slice(0, 8)).toEqual([
      "flowchart TB",
      '  n1((" "))',
      '  n2("a")',
      '  n3("b")',
      '  n1 -->|" "| n2',
      '  n1 -->|" "| n3',
      '  n2 -->|"go"| n2',
      '  n2 -->|"go"| n3',
    ]);
    expect(() => Loop.toMermaid({ direction: "UP" as never })).toThrow(
      expect.objectContaining({ path: "direction" }),
    );
  });
});
