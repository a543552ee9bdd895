// Opens a message of an execution by its id.

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { isMessageId } from "../../../pipeline/definition/message-id.js";
import { go } from "../shell/router.js";

export function MessageSearch({ execution }: { readonly execution: string }): JSX.Element {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const hint = useId();
  const open = (event: Event): void => {
    event.preventDefault();
    const message = text.trim();
    if (isMessageId(message)) go("lineage", { id: execution, message });
    else
      setProblem(
        "An id is the path of the message's descent, such as 10.13.11: logs, dead letters and telemetry have it.",
      );
  };
  return (
    <form class="inline" onSubmit={open}>
      <input
        class="field"
        aria-label="Id of a message"
        aria-describedby={hint}
        placeholder="10.13.11"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        autocomplete="off"
        spellcheck={false}
      />
      <button type="submit" class="button">
        Show its lineage
      </button>
      <small id={hint} role="status">
        {problem}
      </small>
    </form>
  );
}
