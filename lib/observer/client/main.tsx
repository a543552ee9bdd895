// The page of the observer. Each room has one idea: `model` decides and knows no browser, `shell` is the address, the token, the feed and
// the keys, `parts` are what pages are built of, `pages` has one file for each page.

import { render } from "preact";
import { PAGES } from "./pages/index.js";
import { beginClock } from "./shell/clock.js";
import { beginFeed } from "./shell/feed.js";
import { App, HOME } from "./shell/frame.js";
import { beginKeys } from "./shell/keyboard.js";
import { beginRouter } from "./shell/router.js";
import { beginSession, session } from "./shell/session.js";
import { beginTheme } from "./shell/theme.js";
import { beginToken } from "./shell/token.js";

beginTheme();
// Before the router, which would read the token as an address.
beginToken();
beginRouter(HOME);
beginClock();
beginFeed();
beginKeys(letters);
beginSession();
render(<App pages={PAGES} />, document.getElementById("app") as HTMLElement);

/** The pages that this service has, by their letters. */
function letters(): ReadonlyMap<string, string> {
  const now = session.value;
  if (now.phase !== "open") return new Map();
  return new Map(
    PAGES.flatMap(({ letter, name, needs }) =>
      letter !== undefined && now.hello.subjects.includes(needs) ? [[letter, name]] : [],
    ),
  );
}
