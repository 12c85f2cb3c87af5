import { isClientError, type StackStatus } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { LoadedStacks } from "../../parts/loaded-stacks.tsx";
import { Mark } from "../../parts/mark.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Day, Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-address.ts";
import { useServer } from "../../session/server-context.tsx";
import { stackPath } from "../use-place.ts";
import { PLATFORM_NAMES, PLATFORMS, type Platform, trustSteps } from "./trust-texts.ts";

interface Chosen {
  /** PROJECT/STACK. */
  readonly stack: string;
  readonly phase: string;
  readonly platform: string;
}

/** How runs prove to clouds who they are: the issuer and its keys, how a cloud is told to trust it, and what runs of a stack got. */
export function IdentityPage() {
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["identity-issuer"],
    queryFn: async ({ signal }) => {
      try {
        return (await client.showIdentityIssuer({}, { signal })).data;
      } catch (error) {
        if (isClientError(error, "not_found")) return null;
        throw error;
      }
    },
  });
  return (
    <>
      <PageHead title="Identity of runs">
        <p className="quiet">
          Runs prove to clouds and to Vault who they are with tokens that this server signs, so that
          no key of a cloud is stored
        </p>
      </PageHead>
      <Loaded query={query} what="issuer">
        {(issuer) =>
          issuer === null ? (
            <Empty title="This server issues no identities to runs">
              <p>Who operates it says why, and which other credentials runs get.</p>
            </Empty>
          ) : (
            <>
              <section className="card" aria-labelledby="issuer">
                <h2 id="issuer">Issuer</h2>
                <dl className="facts-list">
                  <div>
                    <dt>Address</dt>
                    <dd>
                      <code>{issuer.issuer}</code>
                    </dd>
                  </div>
                  <div>
                    <dt>Keys (JWKS)</dt>
                    <dd>
                      <code>{issuer.keys_url}</code>
                    </dd>
                  </div>
                  <div>
                    <dt>Signature</dt>
                    <dd>{issuer.algorithm}</dd>
                  </div>
                  <div>
                    <dt>A token is valid for</dt>
                    <dd>{Math.round(issuer.token_seconds / 60)} minutes</dd>
                  </div>
                </dl>
                {!issuer.issuer.startsWith("https:") && (
                  <p className="note attention">
                    Clouds trust issuers with TLS alone, and have to reach them. Start the server
                    with <code>--public-host</code>.
                  </p>
                )}
              </section>
              <section aria-labelledby="keys">
                <h2 id="keys">Published keys</h2>
                <p className="quiet">
                  Each signs for 90 days, which begin on the same day for every server: a server may
                  be younger than the days of its first key.
                </p>
                <TableScroll>
                  <table className="list" aria-labelledby="keys">
                    <thead>
                      <tr>
                        <th scope="col">Key</th>
                        <th scope="col">State</th>
                        <th scope="col">Signs from</th>
                        <th scope="col">Until</th>
                      </tr>
                    </thead>
                    <tbody>
                      {issuer.keys.map(({ id, state, signs_from: from, signs_until: until }) => (
                        <tr key={id}>
                          <th scope="row">
                            <code>{id}</code>
                          </th>
                          <td>
                            <span className={`badge ${state === "current" ? "good" : "quiet"}`}>
                              <Mark shape={state === "current" ? "check" : "ring"} />
                              {state}
                            </span>
                          </td>
                          <td data-label="from">
                            <Day at={from} />
                          </td>
                          <td data-label="until">
                            <Day at={until} />
                          </td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </TableScroll>
              </section>
              <LoadedStacks>
                {(stacks) => <StackIdentity issuer={issuer.issuer} stacks={stacks} />}
              </LoadedStacks>
            </>
          )
        }
      </Loaded>
    </>
  );
}

interface StackIdentityProps {
  readonly issuer: string;
  readonly stacks: readonly StackStatus[];
}

function StackIdentity({ issuer, stacks }: StackIdentityProps) {
  const given = useFilters<Chosen>();
  const navigate = useNavigate();
  const names = stacks.map(({ project, name }) => `${project}/${name}`);
  const stack = given.stack ?? names[0] ?? "";
  const phase = given.phase === "plan" ? "plan" : "apply";
  const platform = PLATFORMS.find((one) => one === given.platform) ?? "aws";
  const choose = (change: Partial<Chosen>): void => {
    void navigate({
      to: ".",
      search: { stack, phase, platform, ...change },
      replace: true,
      resetScroll: false,
    });
  };
  if (stack === "") {
    return (
      <Empty title="There are no stacks yet">
        <p>A cloud trusts the runs of a stack, by its name.</p>
      </Empty>
    );
  }
  return (
    <>
      <div className="filters">
        <label htmlFor="identity-stack">Stack</label>
        <select
          id="identity-stack"
          value={stack}
          onChange={(event) => choose({ stack: event.target.value })}
        >
          {!names.includes(stack) && <option>{stack}</option>}
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <label htmlFor="identity-phase">Phase</label>
        <select
          id="identity-phase"
          value={phase}
          onChange={(event) => choose({ phase: event.target.value })}
        >
          <option value="apply">apply</option>
          <option value="plan">plan</option>
        </select>
        <label htmlFor="identity-platform">Platform</label>
        <select
          id="identity-platform"
          value={platform}
          onChange={(event) => choose({ platform: event.target.value })}
        >
          {PLATFORMS.map((one) => (
            <option key={one} value={one}>
              {PLATFORM_NAMES[one]}
            </option>
          ))}
        </select>
      </div>
      <IdentityOf issuer={issuer} stack={stack} phase={phase} platform={platform} />
    </>
  );
}

interface IdentityOfProps {
  readonly issuer: string;
  readonly stack: string;
  readonly phase: "plan" | "apply";
  readonly platform: Platform;
}

function IdentityOf({ issuer, stack: named, phase, platform }: IdentityOfProps) {
  const { client } = useServer();
  const [project = "", stack = ""] = named.split("/");
  const place = { project, stack };
  const query = useQuery({
    queryKey: ["stack-identity", project, stack],
    queryFn: async ({ signal }) => (await client.showStackIdentity(place, { signal })).data,
  });
  return (
    <Loaded query={query} what={`identity of ${named}`}>
      {({ subjects, requested, issued }) => (
        <>
          <section aria-labelledby="trust">
            <h2 id="trust">How {PLATFORM_NAMES[platform]} trusts it</h2>
            <p>
              The subject is <code>{subjects[phase]}</code>.
              {phase === "plan" &&
                " A plan runs what a pull request says: give it a role that only reads."}
            </p>
            <ol className="steps">
              {trustSteps(platform, { issuer, subject: subjects[phase], stack: named }).map(
                ({ what, text }) => (
                  <li key={what}>
                    {what}
                    <pre className="diff" tabIndex={0}>
                      {text}
                    </pre>
                  </li>
                ),
              )}
            </ol>
          </section>
          <section aria-labelledby="requested">
            <h2 id="requested">Tokens that runs of {named} get</h2>
            {requested.length === 0 ? (
              <Empty title="None: no variable of the stack asks for one">
                <p>
                  A variable <code>STACKWRIGHT_IDENTITY_AUDIENCE</code> of the category env asks for
                  one.
                </p>
              </Empty>
            ) : (
              <TableScroll>
                <table className="list" aria-labelledby="requested">
                  <thead>
                    <tr>
                      <th scope="col">Variable</th>
                      <th scope="col">Audience</th>
                    </tr>
                  </thead>
                  <tbody>
                    {requested.map(({ tag, audience }) => (
                      <tr key={tag}>
                        <th scope="row">
                          <code>STACKWRIGHT_IDENTITY_TOKEN{tag === "" ? "" : `_${tag}`}</code>
                        </th>
                        <td className="wide">
                          {audience === undefined ? (
                            <span className="quiet">of a sensitive variable</span>
                          ) : (
                            <code>{audience}</code>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </TableScroll>
            )}
          </section>
          <section aria-labelledby="issued">
            <div className="section-head">
              <h2 id="issued">Issued to its runs</h2>
              <button type="button" onClick={() => void query.refetch()}>
                Read again
              </button>
            </div>
            {issued.length === 0 ? (
              <Empty title="No token was issued to a run that is still stored">
                <p>Tokens appear here with the next run that asks for one.</p>
              </Empty>
            ) : (
              <TableScroll>
                <table className="list" aria-labelledby="issued">
                  <thead>
                    <tr>
                      <th scope="col">Run</th>
                      <th scope="col">Phase</th>
                      <th scope="col">Audiences</th>
                      <th scope="col">When</th>
                    </tr>
                  </thead>
                  <tbody>
                    {issued.map(({ run, number, phase: of, audiences, at }) => (
                      <tr key={`${run} ${at} ${of}`}>
                        <th scope="row">
                          <Link to={`${stackPath(place)}/r/${run}`}>#{number}</Link>
                        </th>
                        <td>{of}</td>
                        <td className="wide">{audiences.join(", ")}</td>
                        <td>
                          <Time at={at} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </TableScroll>
            )}
          </section>
        </>
      )}
    </Loaded>
  );
}
