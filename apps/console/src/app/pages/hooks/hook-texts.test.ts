import { expect, it } from "vitest";
import { commandOfText, textOfCommand, textOfVariables, variablesOfText } from "./hook-texts.ts";

const WORDS = ["", "[", "[]", "{}", "a\nb", "a\r\nb", "a\rb", '["x"]', " a ", "a=b", "\n", "null"];

it("a command comes out of the form as it went in", () => {
  expect(textOfCommand(["scan", "--all", "a b"])).toBe("scan\n--all\na b");
  expect(commandOfText("scan\n--all\n\n")).toEqual(["scan", "--all"]);
  expect(commandOfText(textOfCommand(["sh", "-c", "a\nb"]))).toEqual(["sh", "-c", "a\nb"]);
  expect(commandOfText("[\n-f\nx\n]")).toEqual(["[", "-f", "x", "]"]);
  for (const one of WORDS) {
    for (const other of WORDS) {
      const command = [one, other];
      expect(commandOfText(textOfCommand(command))).toEqual(command);
    }
    expect(commandOfText(textOfCommand([one]))).toEqual([one]);
  }
});

it("variables come out of the form as they went in", () => {
  expect(textOfVariables({ A: "1", B: "x=y" })).toBe("A=1\nB=x=y");
  expect(variablesOfText("A=1\n\nB")).toEqual({ A: "1", B: "" });
  for (const one of WORDS) {
    for (const other of WORDS) {
      const variables = { A: one, B_2: other };
      expect(variablesOfText(textOfVariables(variables))).toEqual(variables);
    }
  }
});
