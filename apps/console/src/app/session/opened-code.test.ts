import { expect, it } from "vitest";
import { OpenedCode } from "./opened-code.ts";

/** A window at an address, which may be led to another hash. */
function windowAt(hash: string) {
  const location = { hash, pathname: "/console/p/web", search: "?x=1" };
  const listeners: (() => void)[] = [];
  const shown: string[] = [];
  const history = {
    state: { key: "k" },
    replaceState: (state: object, _title: string, address: string): void => {
      expect(state).toEqual({ key: "k" });
      shown.push(address);
      location.hash = "";
    },
  };
  const addEventListener = (name: string, listener: () => void): void => {
    expect(name).toBe("hashchange");
    listeners.push(listener);
  };
  const lead = (to: string): void => {
    location.hash = to;
    for (const listener of listeners) listener();
  };
  return { opened: new OpenedCode({ location, history, addEventListener } as never), shown, lead };
}

it("takes the code out of the address that a tab is opened with", () => {
  const { opened, shown } = windowAt("#code=abc_-1");
  expect([opened.value, shown]).toEqual(["abc_-1", ["/console/p/web?x=1"]]);
  opened.drop();
  expect(opened.value).toBeUndefined();
});

it("takes it out of an address that an open tab is led to, and says so", () => {
  const { opened, shown, lead } = windowAt("#content");
  expect([opened.value, shown]).toEqual([undefined, []]);
  const seen: unknown[] = [];
  const end = opened.subscribe(() => seen.push(opened.value));
  lead("#other");
  lead("#code=second");
  opened.drop();
  end();
  lead("#code=third");
  expect([seen, shown.length, opened.value]).toEqual([["second", undefined], 2, "third"]);
});
