import { systemClock } from "@stackwright/base/clock";
import { createManualClock } from "@stackwright/base/testing";
import { type GivenPlan, planView } from "@stackwright/plan-view";
import { expect, it } from "vitest";
import { PlanRenderer } from "./plan-renderer.ts";

const EMPTY_PLAN: GivenPlan = {
  stack: "s",
  mode: "normal",
  partial: false,
  createdAtMs: 0,
  revision: 0n,
  changes: [],
  outputs: [],
  drift: [],
  checks: [],
};
const FORM = { form: "text", title: "web/one" } as const;
const VIEW = JSON.stringify(planView(EMPTY_PLAN, { planDigest: "d" }));
const never = new AbortController().signal;

it("renders in a thread what it renders at once", async () => {
  const direct = new PlanRenderer({ clock: systemClock });
  const apart = new PlanRenderer({ clock: systemClock, directLength: 0 });
  for (const form of ["text", "markdown", "html"] as const) {
    const expected = await direct.render(VIEW, { ...FORM, form }, never);
    expect(expected.length).toBeGreaterThan(0);
    expect(await apart.render(VIEW, { ...FORM, form }, never)).toBe(expected);
  }
});

it("answers that a view is too large where its thread fails, and renders the next one", async () => {
  const renderer = new PlanRenderer({ clock: systemClock, directLength: 0 });
  const refused = { code: "unprocessable" };
  await expect(renderer.render("no JSON", FORM, never)).rejects.toMatchObject(refused);
  expect(await renderer.render(VIEW, FORM, never)).toContain("No changes");
});

it("ends a thread that takes too long", async () => {
  const clock = createManualClock();
  const renderer = new PlanRenderer({ clock, directLength: 0, timeoutMs: 5_000 });
  const ended = expect(renderer.render(VIEW, FORM, never)).rejects.toMatchObject({
    code: "unprocessable",
  });
  await clock.advance(5_000);
  await ended;
});

it("lets two be rendered and sixteen wait, and refuses the next one", async () => {
  const renderer = new PlanRenderer({ clock: systemClock, directLength: 0 });
  const all = Array.from({ length: 18 }, async () => renderer.render(VIEW, FORM, never));
  await expect(renderer.render(VIEW, FORM, never)).rejects.toMatchObject({ code: "rate_limited" });
  expect(new Set(await Promise.all(all)).size).toBe(1);
  expect(await renderer.render(VIEW, FORM, never)).toContain("No changes");
});

it("takes no thread for a reader that has gone away", async () => {
  const renderer = new PlanRenderer({ clock: systemClock, directLength: 0 });
  const gone = AbortSignal.abort(new Error("gone"));
  await expect(renderer.render(VIEW, FORM, gone)).rejects.toThrow("gone");
});
