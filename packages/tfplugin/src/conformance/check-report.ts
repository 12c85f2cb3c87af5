/** Something that a check found. */
export interface Finding {
  /** `warning`: permitted, and worth a look. */
  readonly severity: "error" | "warning";
  /** What is wrong, and where. Never holds the content of a value. */
  readonly text: string;
}

/** The outcome of one check. */
export interface CheckResult {
  /** What was checked: `provider`, `resource notes_note`. */
  readonly subject: string;
  /** What has to hold. */
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly findings: readonly Finding[];
  /** Why it was skipped. */
  readonly reason?: string;
}

/** What is known of a provider after all checks. */
export interface ConformanceReport {
  readonly checks: readonly CheckResult[];
  readonly failed: number;
  readonly warnings: number;
}

/** Findings of one check beyond this number are counted, and not listed. */
const MAX_FINDINGS = 20;
/** Longer texts are cut: a provider decides how much it says. */
const MAX_TEXT = 500;

/** Collects the findings of one check. */
export class Findings {
  readonly #found: Finding[] = [];
  #dropped = 0;

  error(text: string): void {
    this.#add({ severity: "error", text });
  }

  warn(text: string): void {
    this.#add({ severity: "warning", text });
  }

  get hasErrors(): boolean {
    return this.#found.some(({ severity }) => severity === "error");
  }

  get list(): readonly Finding[] {
    if (this.#dropped === 0) return this.#found;
    return [...this.#found, { severity: "warning", text: `and ${this.#dropped} more` }];
  }

  #add({ severity, text }: Finding): void {
    // An error is never dropped for warnings that came before it.
    if (this.#found.length >= MAX_FINDINGS && (severity === "warning" || this.hasErrors)) {
      this.#dropped += 1;
      return;
    }
    const short = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}...` : text;
    this.#found.push({ severity, text: short });
  }
}

/** Collects the outcomes of checks, in their order. */
export class CheckCollector {
  readonly #checks: CheckResult[] = [];
  readonly #onCheck: (check: CheckResult) => void;

  constructor(onCheck: (check: CheckResult) => void) {
    this.#onCheck = onCheck;
  }

  /** Runs a check. What it throws is a finding. Returns whether it passed. */
  async run(
    subject: string,
    name: string,
    check: (findings: Findings) => void | Promise<void>,
    describe: (error: unknown) => string,
  ): Promise<boolean> {
    const findings = new Findings();
    try {
      await check(findings);
    } catch (error) {
      findings.error(describe(error));
    }
    const outcome = findings.hasErrors ? "failed" : "passed";
    this.#add({ subject, name, outcome, findings: findings.list });
    return outcome === "passed";
  }

  skip(subject: string, name: string, reason: string): void {
    this.#add({ subject, name, outcome: "skipped", findings: [], reason });
  }

  get report(): ConformanceReport {
    const warnings = this.#checks.flatMap(({ findings }) => findings);
    return {
      checks: this.#checks,
      failed: this.#checks.filter(({ outcome }) => outcome === "failed").length,
      warnings: warnings.filter(({ severity }) => severity === "warning").length,
    };
  }

  #add(check: CheckResult): void {
    this.#checks.push(check);
    this.#onCheck(check);
  }
}
