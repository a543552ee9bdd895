// Texts that a page must show as they are. Each would do something if it became markup.

type Texts = Readonly<Record<"markup" | "script" | "link" | "control" | "turned" | "long", string>>;

export const HOSTILE: Texts = {
  markup: `<img src=x onerror="document.title='taken'">`,
  script: `</script><script>document.title='taken'</script>`,
  link: `javascript:document.title='taken'`,
  /** A terminal would obey it. */
  control: "red \u001b[31m alert",
  /** It turns what follows around. */
  turned: "\u202etxt.exe",
  long: "long ".repeat(60).trim(),
};

const PLAIN: Texts = {
  ...{ markup: "green tea", script: "an empty shelf", link: "terminal", control: "scales" },
  ...{ turned: "scanner", long: "counter of customers" },
};

/** Those of the service. `--plain`: texts for pictures. */
export const TEXTS: Texts = process.argv.includes("--plain") ? PLAIN : HOSTILE;
