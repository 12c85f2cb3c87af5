import fc from "fast-check";
import { expect, it } from "vitest";
import { PrintedState } from "./printed-state.ts";

const STATE = '{\n  "version": 4,\n  "serial": 1,\n  "resources": [\n    {\n    }\n  ]\n}\n';

/** What is passed on of a text that arrives in lines, whose longer ones come in parts. */
function pass(text: string, printed = new PrintedState(), length = Infinity) {
  const passed: string[] = [];
  for (const line of text.split(/(?<=\n)/)) {
    for (let at = 0; at < line.length; at += length) {
      passed.push(...printed.take(line.slice(at, at + length)));
    }
  }
  passed.push(...printed.flush());
  return { passed: passed.join(""), content: printed.content };
}

it("takes a state out of the output, and leaves what is around it", () => {
  expect(pass(`before\n${STATE}after\n`)).toEqual({ passed: "before\nafter\n", content: STATE });
});

it.each(["plain\n", "{\n", "{\n{\n", '{\n  "version": 3,\n}\n', '  {\n  "version": 4,\n}\n', "{"])(
  "passes %j on",
  (text) => {
    expect(pass(text)).toEqual({ passed: text, content: undefined });
  },
);

it("has the last of two states", () => {
  const second = STATE.replace('"serial": 1', '"serial": 2');
  expect(pass(STATE + second)).toEqual({ passed: "", content: second });
});

it("takes a state whose first line comes after another one like it", () => {
  expect(pass(`{\n${STATE}`)).toEqual({ passed: "{\n", content: STATE });
});

it("shows nothing of a state that is cut off, and has none", () => {
  expect(pass(STATE.slice(0, -2))).toEqual({ passed: "", content: undefined });
});

it("has a state whose last line has no end", () => {
  expect(pass(STATE.trimEnd()).content).toBe(STATE.trimEnd());
});

it.each([
  [-1, undefined],
  [0, STATE],
  [1, STATE],
])("keeps a state of at most so many bytes, and %d", (more, content) => {
  const printed = new PrintedState(Buffer.byteLength(STATE) + more);
  expect(pass(`${STATE}after\n`, printed)).toEqual({ passed: "after\n", content });
});

it("takes out what a search in the whole output finds", () => {
  const line = fc.constantFrom("{", "}", '  "version": 4,', "text", "", "  }", '  "a": "}"');
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const text = lines.map((one) => `${one}\n`).join("");
      const states = /^\{\n {2}"version": 4,\n(?:[\s\S]*?^\}\n|[\s\S]*(?![\s\S]))/gm;
      const whole = [...text.matchAll(states)]
        .map(([one]) => one)
        .filter((one) => /^\}\n/m.test(one));
      expect(pass(text)).toEqual({ passed: text.replace(states, ""), content: whole.at(-1) });
    }),
  );
});

it("takes a line in parts as it takes it whole", () => {
  const long = STATE.replace("1", `"${"}".repeat(50)}"`);
  expect(pass(`before\n${long}after\n`, new PrintedState(), 20)).toEqual({
    passed: "before\nafter\n",
    content: long,
  });
});
