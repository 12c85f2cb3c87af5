import type { Page } from "playwright-core";
import { expect } from "vitest";
import { type FocusStop, judgeFocus } from "./judge-focus.ts";

/** Presses of Tab after which what is looked for is not on the page. */
const MAX_PRESSES = 150;

/** A user without a mouse: everything is a key, and what has the focus is judged after each Tab. */
export class Keyboard {
  /** Where the focus was that could not be seen, and why. */
  readonly problems: string[] = [];
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async press(keys: string): Promise<void> {
    await this.#page.keyboard.press(keys);
  }

  async type(text: string): Promise<void> {
    await this.#page.keyboard.type(text);
  }

  /** Presses Tab, or Shift+Tab, until something of a name has the focus. It has to be on the page. */
  async tabTo(name: string | RegExp, keys: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
    const seen: string[] = [];
    for (let presses = 0; presses < MAX_PRESSES; presses += 1) {
      const stop = await this.tab(keys);
      if (typeof name === "string" ? stop?.name === name : name.test(stop?.name ?? "")) return;
      seen.push(stop?.name ?? "(nothing)");
    }
    expect.fail(`Tab does not lead to ${String(name)}, but to ${seen.slice(0, 60).join(", ")}`);
  }

  /** Presses Tab once. Undefined where the focus has left the page. */
  async tab(keys: "Tab" | "Shift+Tab" = "Tab"): Promise<FocusStop | undefined> {
    await this.press(keys);
    const stop = await judgeFocus(this.#page);
    if (stop === undefined) return undefined;
    const where = `${new URL(this.#page.url()).pathname} ${stop.role} "${stop.name}"`;
    for (const problem of stop.problems) {
      const text = `${where} ${problem}`;
      if (!this.problems.includes(text)) this.problems.push(text);
    }
    return stop;
  }

  /** Goes to everything on the page or in its dialog, once. Returns the names. */
  async walk(): Promise<readonly string[]> {
    const names: string[] = [];
    const isMarked = 'document.activeElement?.hasAttribute("data-walked") === true';
    await this.#page.evaluate(
      'for (const one of document.querySelectorAll("[data-walked]")) one.removeAttribute("data-walked")',
    );
    for (let presses = 0; presses < MAX_PRESSES; presses += 1) {
      const stop = await this.tab();
      if (stop === undefined) continue;
      if (await this.#page.evaluate<boolean>(isMarked)) return names;
      await this.#page.evaluate('document.activeElement.setAttribute("data-walked", "")');
      names.push(stop.name);
    }
    return names;
  }
}
