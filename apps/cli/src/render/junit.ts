import type { TestFileResult, TestRunResult } from "@stackwright/core";
import { type Diagnostic, renderDiagnostic } from "@stackwright/lang";

const WIDTH = 78;

/** The results of test files in the form of JUnit's reports. */
export function junitReport(files: readonly TestFileResult[]): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?><testsuites>\n',
    ...files.map(suite),
    "</testsuites>\n",
  ].join("");
}

function suite({ name, runs }: TestFileResult): string {
  const count = (status: TestRunResult["status"]): string =>
    String(runs.filter((run) => run.status === status).length);
  const head = element("testsuite", {
    name,
    tests: String(runs.length),
    skipped: count("skip"),
    failures: count("fail"),
    errors: count("error"),
  });
  const broken = runs.find(({ status }) => status === "error");
  return `  ${head}\n${runs.map((run) => testCase(name, run, broken)).join("")}  </testsuite>\n`;
}

function testCase(file: string, run: TestRunResult, broken: TestRunResult | undefined): string {
  const { name, startedAtMs, elapsedMs } = run;
  const head = element("testcase", {
    name,
    classname: file,
    ...(elapsedMs !== undefined && { time: String(elapsedMs / 1000) }),
    ...(startedAtMs !== undefined && {
      timestamp: new Date(startedAtMs).toISOString().replace(/\.\d+Z$/, "Z"),
    }),
  });
  const content = result(run, broken);
  return `    ${head}${content === "" ? "" : `\n${content}    `}</testcase>\n`;
}

function result(run: TestRunResult, broken: TestRunResult | undefined): string {
  const { status, diagnostics, assertions, failures } = run;
  const isError = ({ severity }: Diagnostic): boolean => severity === "error";
  const warnings = diagnostics.filter((one) => !isError(one));
  const systemError =
    warnings.length === 0 ? "" : `      <system-err>${text(warnings)}</system-err>\n`;
  switch (status) {
    case "skip": {
      const why =
        broken === undefined
          ? "Skipped as the tests were interrupted"
          : `Skipped as the run "${broken.name}" before it ended in an error`;
      const message = "Testcase skipped due to a previous testcase error";
      return `      ${element("skipped", { message })}${cdata(why)}</skipped>\n`;
    }
    case "fail": {
      const [first = ""] = failures;
      const which = failures.length > 1 ? `, including: ${first}` : `: ${first}`;
      const message = `${failures.length} of ${assertions} assertions failed${which}`;
      return `      ${element("failure", { message })}${text(diagnostics.filter(isError))}</failure>\n${systemError}`;
    }
    case "error": {
      const message = "Encountered an error";
      return `      ${element("error", { message })}${text(diagnostics.filter(isError))}</error>\n${systemError}`;
    }
    case "pass":
    case "pending":
    default:
      return systemError;
  }
}

function text(diagnostics: readonly Diagnostic[]): string {
  const options = { color: false, width: WIDTH };
  return cdata(diagnostics.map((one) => renderDiagnostic(one, options)).join(""));
}

function cdata(content: string): string {
  return `<![CDATA[${printable(content).replaceAll("]]>", "]]]]><![CDATA[>")}]]>`;
}

/** Characters that XML cannot have are replaced. */
function printable(content: string): string {
  return Array.from(content, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const isControl = code < 0x20 && !"\t\n\r".includes(character);
    return isControl || code === 0xfffe || code === 0xffff ? "\ufffd" : character;
  }).join("");
}

function element(name: string, attributes: Readonly<Record<string, string>>): string {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`);
  return `<${name}${list.join("")}>`;
}

function escaped(content: string): string {
  return printable(content)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&#34;")
    .replaceAll("\n", "&#xA;");
}
