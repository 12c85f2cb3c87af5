/** A metric as an expression may use it. */
interface KnownMetric {
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
}

const TOKEN =
  /\s*(?:(?<name>[a-z_][a-z0-9_]*)|(?<number>\d+(?:\.\d+)?)|(?<text>"[^"]*")|(?<range>\[\d+[smhd]\])|(?<sign>=~|!=|!~|>=|<=|==|[=<>+\-*/(){},]))/iy;
const FUNCTIONS: ReadonlySet<string> = new Set([
  "rate",
  "increase",
  "histogram_quantile",
  "abs",
  "absent",
]);
const AGGREGATIONS: ReadonlySet<string> = new Set(["sum", "max", "min", "avg", "count"]);
/** Functions whose argument is a range. */
const OF_RANGES: ReadonlySet<string> = new Set(["rate", "increase"]);
const PARTS = /_(bucket|count|sum)$/;

/**
 * What is wrong with an expression of Prometheus, in words: it does not have the form that rules use (aggregations, functions,
 * selectors, comparisons), or asks for metrics, labels and forms that are not there. Empty where it is sound. Each kind of metric is used as its type demands:
 * counters and histograms by their rate, gauges as they are.
 */
export function problemsOf(
  expression: string,
  metrics: ReadonlyMap<string, KnownMetric>,
): readonly string[] {
  const problems: string[] = [];
  const tokens: string[] = [];
  const text = expression.trim();
  const lexer = new RegExp(TOKEN);
  while (lexer.lastIndex < text.length) {
    const from = lexer.lastIndex;
    const found = lexer.exec(text);
    if (found === null) return [`it cannot be read from "${text.slice(from)}" on`];
    tokens.push(found[0].trim());
  }
  let at = 0;
  const peek = (): string | undefined => tokens[at];
  const take = (wanted?: string): string => {
    const token = tokens[at] ?? "";
    if (wanted !== undefined && token !== wanted) {
      throw new SyntaxError(`"${wanted}" is expected instead of "${token}"`);
    }
    at += 1;
    return token;
  };
  const list = (one: () => void): void => {
    take("(");
    while (peek() !== ")") {
      one();
      if (peek() !== ")") take(",");
    }
    take(")");
  };
  /** The labels of an aggregation, each of which its metrics have to have. */
  const grouped: string[] = [];
  const selector = (isRate: boolean): void => {
    const name = take();
    const part = PARTS.exec(name)?.[1];
    const base = metrics.get(name) ?? metrics.get(name.replace(PARTS, ""));
    const labels: string[] = [];
    if (peek() === "{") {
      take("{");
      while (peek() !== "}") {
        labels.push(take());
        if (!["=", "!=", "=~", "!~"].includes(take()))
          throw new SyntaxError("a matcher has no sign");
        if (!/^".*"$/.test(take())) throw new SyntaxError("the value of a matcher is no text");
        if (peek() !== "}") take(",");
      }
      take("}");
    }
    const hasRange = peek()?.startsWith("[") === true;
    if (hasRange) take();
    if (base === undefined) return void problems.push(`there is no metric ${name}`);
    if ((base.type === "histogram") !== (part !== undefined)) {
      problems.push(`${name} is a ${base.type}`);
    }
    const known = [...base.labels, ...(part === "bucket" ? ["le"] : [])];
    for (const label of [...labels, ...grouped]) {
      if (!known.includes(label)) problems.push(`${name} has no label ${label}`);
    }
    if (hasRange !== isRate)
      problems.push(`${name} is ${hasRange ? "" : "not "}taken over a range`);
    if ((base.type === "gauge") === isRate) problems.push(`${name} is a ${base.type}`);
  };
  const term = (isRate = false): void => {
    const token = peek() ?? "";
    if (token === "(") {
      take("(");
      comparison();
      take(")");
    } else if (/^\d/.test(token)) take();
    else if (AGGREGATIONS.has(token)) {
      take();
      const before = grouped.length;
      if (peek() === "by") {
        take();
        list(() => void grouped.push(take()));
      }
      list(comparison);
      grouped.length = before;
    } else if (FUNCTIONS.has(token)) {
      take();
      list(() => (OF_RANGES.has(token) ? term(true) : comparison()));
    } else selector(isRate);
  };
  const comparison = (): void => {
    term();
    while (/^(?:[<>]=?|==|!=|[+\-*/])$/.test(peek() ?? "")) {
      take();
      term();
    }
  };
  try {
    comparison();
    if (at < tokens.length) problems.push(`"${tokens[at]}" is too much`);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    problems.push(error.message);
  }
  return problems;
}
