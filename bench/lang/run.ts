import { Value } from "@stackwright/cty";
import {
  consoleScope,
  createScope,
  evaluate,
  formatFile,
  parseExpression,
  parseFile,
  parseJson,
} from "@stackwright/lang";
import { recordFigure } from "@stackwright-bench/figures";
import { graphs, instances } from "./instances.ts";
import { measure, milliseconds } from "./measure.ts";
import { CALLS, configuration } from "./subjects.ts";

/*
 * What reading and evaluating cost. The baseline of reading is JSON.parse on JSON of about the same
 * size; sizes a factor apart show how the cost grows. Run with --expose-gc for steadier numbers.
 */

function reading(): void {
  const rows = [500, 2_000, 50_000].map((lines) => {
    const text = configuration(lines);
    const size = text.split("\n").length;
    const json = JSON.stringify(
      Array.from({ length: Math.ceil(text.length / 60) }, (_, at) => ({
        [`key${at}`]: [at, "some text in it"],
      })),
    );
    const warmed = configuration(2_000);
    for (let round = 0; round < 20; round++) parseFile({ name: "warm.tf", text: warmed });
    const parsed = measure(() => parseFile({ name: "main.tf", text }));
    const formatted = measure(() => formatFile({ name: "main.tf", text }));
    const ours = measure(() => parseJson({ name: "main.json", text: json }));
    const platform = measure(() => JSON.parse(json) as unknown);
    recordFigure({
      name: "language: parsing a template",
      unit: "ms",
      size,
      of: "lines",
      ours: { subject: "lang", middle: parsed.median },
      baseline: { subject: "JSON.parse of as many bytes", middle: platform.median },
    });
    return {
      lines: size,
      KB: Math.round(text.length / 1024),
      "parse, ms": milliseconds(parsed),
      "format, ms": milliseconds(formatted),
      "parse / JSON.parse": (parsed.best / platform.best).toFixed(1),
      "parseJson / JSON.parse": (ours.best / platform.best).toFixed(1),
      "us per line": ((parsed.best * 1000) / size).toFixed(2),
    };
  });
  console.log("Reading (best / median ± half quartile distance)");
  console.table(rows);
}

const VARIABLES = {
  name: Value.string("server-name"),
  names: Value.list(["a", "b", "c", "d"].map((name) => Value.string(name))),
  sizes: Value.map({ web: Value.number(2), db: Value.number(4) }),
};

function calling(): void {
  const scope = createScope({ functions: consoleScope().functions, variables: VARIABLES });
  const rows = CALLS.map((text) => {
    const { value: expression } = parseExpression({ name: "call", text });
    const times = 2_000;
    const { best, median } = measure(() => {
      for (let round = 0; round < times; round++) evaluate(expression, scope);
    });
    return {
      call: text,
      "us per call": ((best * 1000) / times).toFixed(2),
      "median, us": ((median * 1000) / times).toFixed(2),
      "calls per second": Math.round((times * 1000) / best),
    };
  });
  console.log("Functions, called from an expression");
  console.table(rows);
}

function looping(): void {
  const { functions } = consoleScope();
  const { value: expression } = parseExpression({
    name: "loop",
    text: '{ for k, v in items : k => merge(v, { name = "${prefix}-${k}", next = v.index + 1 }) if v.index >= 0 }',
  });
  const rows = [1_000, 10_000].map((count) => {
    const items = Value.map(
      Array.from({ length: count }, (_, index) => [
        `item${String(index).padStart(6, "0")}`,
        Value.object({ index: Value.number(index), size: Value.string("small") }),
      ]),
    );
    const scope = createScope({ functions, variables: { items, prefix: Value.string("p") } });
    const { best, median, spread } = measure(() => evaluate(expression, scope), 7);
    return {
      elements: count,
      "ms (best / median)": `${best.toFixed(1)} / ${median.toFixed(1)} ± ${spread.toFixed(1)}`,
      "us per element": ((best * 1000) / count).toFixed(2),
    };
  });
  console.log("A loop over a map, three operations per element");
  console.table(rows);
}

reading();
calling();
looping();
await instances();
await graphs();
