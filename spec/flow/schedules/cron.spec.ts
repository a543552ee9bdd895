// Cron expressions: what croner is asked to do, and what it does around the changes of daylight saving time.

import { describe, expect, it } from "vitest";
import { dateOf, timeOf, timeText } from "../../../lib/flow/schedules/calendar.js";
import { checkZone, cronLoader, loadCron } from "../../../lib/flow/schedules/cron.js";
import { ScheduleError } from "../../../lib/flow/schedules/errors.js";
import { PackageMissingError } from "../../../lib/process/package-missing.js";

const parse = await loadCron();

function times(expression: string, zone: string, from: string, count: number): string[] {
  const { next } = parse("nightly", expression, zone);
  const found: string[] = [];
  for (let at = next(Date.parse(from)); at !== undefined && found.length < count; at = next(at))
    found.push(timeText(at));
  return found;
}

const short = (list: readonly string[]): string[] => list.map((time) => time.slice(5, 16));

describe("a fixed time of day", () => {
  it.each([
    // [zone, expression, from, due times in UTC]. The second due time is the day of the change.
    ["Europe/Berlin", "30 2 * * *", "2026-03-27T12:00Z", ["03-28T01:30", "03-29T01:00", "03-30T00:30"]],
    ["Europe/Berlin", "30 2 * * *", "2026-10-23T12:00Z", ["10-24T00:30", "10-25T00:30", "10-26T01:30"]],
    ["America/New_York", "30 2 * * *", "2026-03-07T00:00Z", ["03-07T07:30", "03-08T07:00", "03-09T06:30"]],
    ["America/New_York", "30 1 * * *", "2026-10-31T00:00Z", ["10-31T05:30", "11-01T05:30", "11-02T06:30"]],
    // The clocks of Lord Howe change by half an hour.
    ["Australia/Lord_Howe", "15 2 * * *", "2026-10-02T00:00Z", ["10-02T15:45", "10-03T15:30", "10-04T15:15"]],
    ["Australia/Lord_Howe", "45 1 * * *", "2026-04-03T00:00Z", ["04-03T14:45", "04-04T14:45", "04-05T15:15"]],
  ])("%s %s comes once a day, also where the clocks change [U13]", (zone, expression, from, expected) => {
    expect(short(times(expression, zone, from.replace("Z", ":00Z"), 3))).toEqual(expected);
  });

  it("may be a list of hours", () => {
    const expected = ["03-28T01:30", "03-28T13:30", "03-29T01:00", "03-29T12:30"];
    expect(short(times("30 2,14 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 4))).toEqual(expected);
  });
});

describe("an interval", () => {
  it.each([
    ["Europe/Berlin", "2026-03-29T00:00:00Z", "30"],
    ["Europe/Berlin", "2026-10-25T00:00:00Z", "30"],
    ["America/New_York", "2026-11-01T04:00:00Z", "15"],
    ["Australia/Lord_Howe", "2026-04-04T14:00:00Z", "15"],
  ])("in %s from %s each %s minutes goes on evenly over the change of the clocks", (zone, from, minutes) => {
    const found = times(`*/${minutes} * * * *`, zone, from, 12).map((time) => Date.parse(time));
    expect(found).toEqual(found.map((_, i) => Date.parse(from) + (i + 1) * Number(minutes) * 60_000));
  });
});

describe("a cron expression that is none", () => {
  it.each([
    ["* * *", "UTC", "cron"],
    ["61 * * * *", "UTC", "cron"],
    ["abc", "UTC", "cron"],
    ["", "UTC", "cron"],
    ["0 0 31 2 *", "UTC", "cron"],
    ["* ".repeat(10_000), "UTC", "cron"],
    [5, "UTC", "cron"],
    [undefined, "UTC", "cron"],
    ["* * * * *", "Mars/Olympus", "timeZone"],
    ["* * * * *", "", "timeZone"],
    ["* * * * *", 7, "timeZone"],
    ["* * * * *", null, "timeZone"],
  ])("%j in %j is refused at %s, with what would be right [U14]", (expression, zone, field) => {
    const read = (): unknown => parse("nightly", expression, zone);
    expect(read).toThrow(ScheduleError);
    expect(read).toThrow(/^schedule "nightly": (cron|timeZone) must be .*such as|matches some day/);
    try {
      read();
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_SCHEDULE", schedule: "nightly", field });
    }
  });

  it("is one of a zone alone where there is no expression", () => {
    expect(() => checkZone("nightly", "Europe/Atlantis")).toThrow(
      /timeZone must be a name of the IANA database/,
    );
    checkZone("nightly", "Australia/Lord_Howe");
  });
});

describe("without croner", () => {
  it("the error names the package, its versions and the command that installs it [U15]", async () => {
    const cause = new Error("Cannot find package 'croner'");
    const error = await loadCron(() => Promise.reject(cause)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(PackageMissingError);
    expect(error).toMatchObject({
      code: "ERR_PACKAGE_MISSING",
      package: "croner",
      versions: "^11.0.0",
      cause,
    });
    expect((error as Error).message).toContain("npm install croner@^11.0.0");
  });
});

describe("times", () => {
  it("are dates, numbers, or texts with an offset", () => {
    const noon = Date.parse("2026-11-22T12:00:00Z");
    const given = [
      new Date(noon),
      noon,
      "2026-11-22T12:00Z",
      "2026-11-22T13:00:00+01:00",
      "2026-11-22T12:00:00.000Z",
    ];
    expect(given.map(timeOf)).toEqual(given.map(() => noon));
    const wrong = [
      "2026-11-22T12:00",
      "noon",
      "",
      Number.NaN,
      1e300,
      new Date(Number.NaN),
      null,
      undefined,
      {},
    ];
    expect(wrong.map(timeOf)).toEqual(wrong.map(() => undefined));
    expect(dateOf(1e300).getTime()).toBe(8.64e15);
  });
});

describe("the loader of a host", () => {
  it("loads croner once, and again after a failure", async () => {
    let loads = 0;
    const load = cronLoader(() => (++loads === 1 ? Promise.reject(new Error("no disk")) : import("croner")));
    await expect(load()).rejects.toThrow("croner");
    expect(await load()).toBe(await load());
    expect(loads).toBe(2);
  });
});
