// A schedule of the simulator, stepped forwards and backwards: a kept failure, or the page beside it, that is opened, dropped or pasted.

import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { openViewer } from "../../../testing/viewer/client/viewer.js";
import type { Picture } from "../../../testing/viewer/picture.js";
import { viewerStyle } from "../../../testing/viewer/style.js";
import { plural } from "../model/format.js";
import { OPENED_LIMITS, type OpenedTrace, openedTrace } from "../model/opened-trace.js";
import { Copy, Empty, Page } from "../parts/index.js";
import type { PageSpec } from "../shell/page-spec.js";

const CODE = `await explore(sellsOnce, { viewer: "kept/", name: "sells-once" });
// On a failure, kept/sells-once.json has its steps and its token.`;

function View(): JSX.Element {
  const [opened, setOpened] = useState<OpenedTrace>();
  const [pasted, setPasted] = useState("");
  const field = useId();
  const openFile = async (file: File | null | undefined): Promise<void> => {
    if (file === null || file === undefined) return;
    // A file of any size would be read into memory at once.
    if (file.size > 2 * OPENED_LIMITS.characters)
      setOpened({ type: "problem", text: `${file.name} is too large to be opened` });
    else setOpened(openedTrace(await file.text().catch((error: unknown) => String(error))));
  };
  return (
    <Page
      title="Simulator"
      about="A failing schedule, step by step, forwards and backwards. It is read in this page and sent nowhere."
      actions={
        opened?.type === "steps" ? (
          <button type="button" class="button" onClick={() => setOpened(undefined)}>
            Open another one
          </button>
        ) : undefined
      }
    >
      {opened?.type === "steps" ? (
        <>
          <p>
            {opened.name === undefined ? "" : `Exploration ${opened.name}, `}
            {plural(opened.picture.steps.length, "step")}. Keys: ← → step, Home and End, f the next fault, /
            search.{" "}
            {opened.token === undefined ? null : (
              <Copy label="Copy the token" text={() => opened.token ?? ""} />
            )}
          </p>
          <Steps picture={opened.picture} />
        </>
      ) : (
        <>
          {opened === undefined ? null : <Told opened={opened} />}
          {/* biome-ignore lint/a11y/noStaticElementInteractions: files can be dropped here, besides the button inside */}
          <div
            class="drop"
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault();
              void openFile(event.dataTransfer?.files.item(0));
            }}
          >
            <p>
              <label class="button brand">
                Open a file
                <input
                  type="file"
                  class="off-screen"
                  accept=".json,.html"
                  onChange={(event) => void openFile(event.currentTarget.files?.item(0))}
                />
              </label>{" "}
              or drop it here: the .json or .html that an exploration has kept.
            </p>
            <form
              onSubmit={(event) => {
                event.preventDefault();
                setOpened(openedTrace(pasted));
              }}
            >
              <label for={field}>Or paste its text, or a token</label>
              <textarea
                id={field}
                class="field"
                rows={5}
                spellcheck={false}
                value={pasted}
                onInput={(event) => setPasted(event.currentTarget.value)}
              />
              <button type="submit" class="button">
                Show it
              </button>
            </form>
          </div>
          <Empty title="Where such a file comes from" code={CODE}>
            The simulator runs a scenario under many schedules. One that fails is kept as a file when the
            exploration has a viewer.
          </Empty>
        </>
      )}
    </Page>
  );
}

function Told({
  opened,
}: {
  readonly opened: Exclude<OpenedTrace, { readonly type: "steps" }>;
}): JSX.Element {
  if (opened.type === "problem")
    return (
      <p role="alert" class="problem">
        It cannot be opened: {opened.text}.
      </p>
    );
  return (
    <div role="status" class="empty">
      <p class="empty-title">
        This is a whole token: {plural(opened.choices, "choice")}, {opened.deviations} of them out of the
        ordinary
      </p>
      <p>
        A token says which choices a run made; its steps come from running the scenario. Run it once with the
        token, and open the file that it keeps:
      </p>
      <pre>
        <code>{`await explore(scenario, { token: ${JSON.stringify(opened.token)}, viewer: "kept/" });`}</code>
      </pre>
    </div>
  );
}

/** The viewer has names and styles of its own, which must not meet those of the page: it is in a shadow root. */
function Steps({ picture }: { readonly picture: Picture }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(viewerStyle(":host"));
    root.adoptedStyleSheets = [sheet];
    return openViewer(root, picture, element);
  }, [picture]);
  return <div ref={host} class="steps" />;
}

export const page: PageSpec = {
  name: "simulator",
  title: "Simulator",
  group: "Traces",
  needs: "system",
  letter: "s",
  View,
};
