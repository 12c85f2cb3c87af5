import type { Run } from "@stackwright/client";
import { visibleText } from "@stackwright/plan-view/lines";
import { Mark } from "../../parts/mark.tsx";
import { type Failure, failuresOf } from "../../run/failures.ts";
import type { RunProblem, RunProgress, RunStep } from "../../run/run-progress.ts";

/** Steps that a list names; more are counted. */
const MAX_NAMED = 20;

interface FailureCardProps {
  readonly run: Run;
  readonly progress: RunProgress;
}

/** Why a run did not do all that it was to do: the first cause, what it held up, and what becomes of what is not known. Nothing where it did. */
export function FailureCard({ run, progress }: FailureCardProps) {
  const { failures, otherProblems, unresolved } = failuresOf(progress);
  const [first, ...others] = failures;
  const isOver = progress.isEnded || run.phase !== "applying";
  // Of a plan that was never applied nothing was begun, and nothing is left.
  const never = isOver && progress.steps.length > 0 ? progress.waiting : [];
  if (first === undefined && otherProblems.length === 0 && unresolved.length === 0) return null;
  return (
    <section className="card failure" aria-labelledby="cause">
      <h2 id="cause">
        {first === undefined ? "Why it failed" : `First cause: ${first.step.address}`}
      </h2>
      {first !== undefined && <FailureText failure={first} />}
      {first === undefined &&
        otherProblems
          .slice(0, MAX_NAMED)
          .map((problem) => (
            <Problem key={`${problem.summary} ${problem.detail}`} problem={problem} />
          ))}
      {others.length > 0 && (
        <details>
          <summary>
            {others.length} more {others.length === 1 ? "step" : "steps"} failed
          </summary>
          {others.slice(0, MAX_NAMED).map((failure) => (
            <div key={failure.step.key}>
              <h3>{failure.step.address}</h3>
              <FailureText failure={failure} />
            </div>
          ))}
        </details>
      )}
      {unresolved.length > 0 && (
        <>
          <h3>Not known what became of it</h3>
          <Steps steps={unresolved} />
          <p className="note attention">
            The call was interrupted. Before the next plan of this stack is made, the providers are
            asked what became of these objects, and what they say is recorded: nothing is made
            twice.
          </p>
        </>
      )}
      {never.length > 0 && (
        <p className="quiet">
          {never.length} {never.length === 1 ? "step was" : "steps were"} not begun. The plan of the
          next run has them again.
        </p>
      )}
    </section>
  );
}

function FailureText({
  failure: { step, problems, lines, skipped },
}: {
  readonly failure: Failure;
}) {
  return (
    <>
      <p>
        <span className="badge bad">
          <Mark shape="cross" />
          {step.action} {step.status.replaceAll("-", " ")}
        </span>
      </p>
      {problems.map((problem) => (
        <Problem key={`${problem.summary} ${problem.detail}`} problem={problem} />
      ))}
      {lines.length > 0 && (
        <details>
          <summary>The last lines of its log</summary>
          <pre className="diff" tabIndex={0}>
            {lines.map(({ text }) => visibleText(text)).join("\n")}
          </pre>
        </details>
      )}
      {skipped.length > 0 && (
        <>
          <h3>Skipped because of it ({skipped.length})</h3>
          <Steps steps={skipped} />
        </>
      )}
    </>
  );
}

function Problem({ problem }: { readonly problem: RunProblem }) {
  const { summary, detail, file, line, code } = problem;
  return (
    <div className="reason bad">
      <strong>{summary}</strong>
      {detail !== "" && <div>{detail}</div>}
      {file !== undefined && (
        <>
          <div className="quiet">
            {file}
            {line !== undefined && `, line ${line}`}
          </div>
          {code.length > 0 && (
            <pre className="diff" tabIndex={0}>
              {code.map((text) => visibleText(text)).join("\n")}
            </pre>
          )}
        </>
      )}
    </div>
  );
}

function Steps({ steps }: { readonly steps: readonly RunStep[] }) {
  return (
    <ul className="plain-list">
      {steps.slice(0, MAX_NAMED).map(({ key, address, action }) => (
        <li key={key}>
          <code>{address}</code> <span className="quiet">{action}</span>
        </li>
      ))}
      {steps.length > MAX_NAMED && <li>and {steps.length - MAX_NAMED} more</li>}
    </ul>
  );
}
