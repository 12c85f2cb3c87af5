/** Where a value is: keys of maps and indices of lists, from the top. */
export type PropertyPath = readonly (string | number)[];

const PLAIN_KEY = /^[\p{L}\p{Nd}_]+$/u;

/**
 * Renders a path the way Pulumi writes the keys of a detailed diff: `a.b[0]["x.y"]`. Keys made of
 * letters, digits and underscores stand bare, others in brackets and quotes with `"` and `\`
 * escaped. The empty path is the empty text.
 */
export function formatPropertyPath(path: PropertyPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (!PLAIN_KEY.test(step)) text += `["${step.replaceAll(/["\\]/g, String.raw`\$&`)}"]`;
    else text += text === "" ? step : `.${step}`;
  }
  return text;
}

/**
 * Reads what {@link formatPropertyPath} writes. Keys between dots may hold anything but `.`, `[`
 * and `]`. Throws a `SyntaxError` that names the offset for any other text.
 */
export function parsePropertyPath(text: string): PropertyPath {
  const steps: (string | number)[] = [];
  let offset = 0;
  while (offset < text.length) {
    if (text[offset] === "[") {
      const step = BRACKETS.exec(text.slice(offset));
      if (step === null) throw new SyntaxError(`unclosed bracket at offset ${offset} of a path`);
      const [all, index, quoted = ""] = step;
      steps.push(
        index === undefined ? quoted.replaceAll(/\\(["\\])/g, "$1") : Number.parseInt(index, 10),
      );
      offset += all.length;
      continue;
    }
    if (text[offset] === ".") {
      if (offset === 0) throw new SyntaxError("a path cannot start with a dot");
      offset += 1;
    } else if (offset > 0) {
      throw new SyntaxError(`expected a dot or a bracket at offset ${offset} of a path`);
    }
    const key = /^[^.[\]]+/.exec(text.slice(offset))?.[0];
    if (key === undefined) throw new SyntaxError(`expected a key at offset ${offset} of a path`);
    steps.push(key);
    offset += key.length;
  }
  return steps;
}

const BRACKETS = /^\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\]/s;
