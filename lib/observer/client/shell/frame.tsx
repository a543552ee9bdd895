// What is around every page: name, navigation, state of the connection, and the page itself.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { feedPhase, isHeld, reconnect, switchHeld } from "./feed.js";
import { Help } from "./help.js";
import { isHelpShown } from "./keyboard.js";
import type { PageSpec } from "./page-spec.js";
import { link, route } from "./router.js";
import { session, useHello } from "./session.js";
import { SignIn } from "./sign-in.js";
import { switchTheme, theme } from "./theme.js";

/** The page that an address without one means. */
export const HOME = "now";
const GROUPS = ["System", "Work", "Traces"] as const;

export function App({ pages }: { readonly pages: readonly PageSpec[] }): JSX.Element {
  const now = session.value;
  if (now.phase !== "open") return <SignIn />;
  const offered = pages.filter(({ needs }) => now.hello.subjects.includes(needs));
  return <Frame pages={offered} />;
}

function Frame({ pages }: { readonly pages: readonly PageSpec[] }): JSX.Element {
  const { name, actions } = useHello();
  const page = pageAt(pages, route.value.page);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    scrollTo(0, 0);
    // Whoever listens to the page hears that it is another one. The first page is read by itself.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [page?.name]);
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <a class="home" href={link(HOME)}>
          <img src="icon.svg" alt="" width="18" height="18" />
          <span class="home-name">{name}</span>
        </a>
        {actions ? null : (
          <span class="badge" title="Start it with observer({ actions: true }) to change something from here">
            Read-only
          </span>
        )}
        <Connection />
        <div class="top-tools">
          <button type="button" class="tool" title="Keys (?)" onClick={() => (isHelpShown.value = true)}>
            <kbd>?</kbd>
            <span class="off-screen">Keys</span>
          </button>
          <button type="button" class="tool" onClick={switchTheme} title={`Colours: ${theme.value}`}>
            <span aria-hidden="true">{{ system: "◐", light: "☀", dark: "☾" }[theme.value]}</span>
            <span class="off-screen">Colours: {theme.value}</span>
          </button>
        </div>
      </header>
      <Navigation pages={pages} at={page?.name} />
      <main id="main" ref={main} tabIndex={-1}>
        {page === undefined ? <NoPage pages={pages} /> : <page.View key={page.name} />}
      </main>
      <Help pages={pages} />
    </div>
  );
}

/** The page of an address. A service without a system, such as a store on its own, begins with the first page that it has. */
function pageAt(pages: readonly PageSpec[], name: string): PageSpec | undefined {
  const found = pages.find((one) => one.name === name);
  return found ?? (name === HOME ? pages.find(({ isHidden }) => isHidden !== true) : undefined);
}

interface NavigationProps {
  readonly pages: readonly PageSpec[];
  /** The page that is shown. */
  readonly at: string | undefined;
}

function Navigation({ pages, at }: NavigationProps): JSX.Element {
  const shown = pages.filter(({ isHidden }) => isHidden !== true);
  const list = useRef<HTMLElement>(null);
  // On a phone the pages are a line that is longer than the window.
  useEffect(() => {
    list.current?.querySelector("a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [at]);
  return (
    <nav aria-label="Pages" ref={list}>
      {GROUPS.map((group) => {
        const own = shown.filter((page) => page.group === group);
        if (own.length === 0) return null;
        return (
          <div class="nav-group" key={group}>
            <h2>{group}</h2>
            <ul>
              {own.map((page) => (
                <li key={page.name}>
                  <a href={link(page.name)} aria-current={page.name === at ? "page" : undefined}>
                    {page.title}
                    <span class="nav-keys" data-keys={page.letter === undefined ? "" : `g ${page.letter}`} />
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

const PHASES = {
  idle: ["quiet", "Idle"],
  connecting: ["quiet", "Connecting"],
  live: ["good", "Live"],
  lost: ["bad", "Connection lost"],
  held: ["warn", "Held"],
} as const;

function Connection(): JSX.Element {
  const [tone, text] = PHASES[isHeld.value ? "held" : feedPhase.value];
  return (
    <div class="connection">
      <span role="status" class={`state ${tone}`}>
        {text}
      </span>
      {feedPhase.value === "lost" && !isHeld.value ? (
        <button type="button" class="button small" onClick={reconnect}>
          Try now
        </button>
      ) : (
        <button type="button" class="button small" aria-pressed={isHeld.value} onClick={switchHeld} title="p">
          {isHeld.value ? "Go on" : "Hold"}
        </button>
      )}
    </div>
  );
}

function NoPage({ pages }: { readonly pages: readonly PageSpec[] }): JSX.Element {
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        This service has{" "}
        {pages
          .filter(({ isHidden }) => isHidden !== true)
          .map(({ name, title }, at) => (
            <>
              {at === 0 ? "" : ", "}
              <a href={link(name)}>{title}</a>
            </>
          ))}
        .
      </p>
    </>
  );
}
