import type { StackDrift } from "@stackwright/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";

type Ignore = NonNullable<StackDrift["ignores"]>[number];

/** What is ignored of the drift of a stack, why, until when, and whether it differs now. */
export function IgnoredDrift({ drift }: { readonly drift: StackDrift }) {
  const { ignores = [], ignored = 0 } = drift;
  if (ignores.length === 0) return null;
  return (
    <section aria-labelledby="ignored">
      <h2 id="ignored">Ignored ({ignores.length})</h2>
      <p className="quiet">
        {ignored === 0
          ? "No object is left out of the drift as a whole."
          : `${ignored} ${ignored === 1 ? "object differs and is" : "objects differ and are"} left out of the drift.`}
      </p>
      <TableScroll>
        <table className="list" aria-labelledby="ignored">
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Now</th>
              <th scope="col">Reason</th>
              <th scope="col">By</th>
              <th scope="col">Counts again</th>
              <th scope="col">
                <span className="hidden">End</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {ignores.map((ignore) => (
              <IgnoreRow key={ignore.id} ignore={ignore} now={nowOf(drift, ignore)} />
            ))}
          </tbody>
        </table>
      </TableScroll>
    </section>
  );
}

function IgnoreRow({ ignore, now }: { readonly ignore: Ignore; readonly now: string }) {
  const { id, address, attribute, reason, actor, until } = ignore;
  const place = useStackPlace();
  const { client, caller } = useServer();
  const queries = useQueryClient();
  const heed = useMutation({
    mutationFn: async () => client.heedDrift({ ...place, ignore: id }),
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: ["drift", place.project, place.stack] }),
  });
  return (
    <tr>
      <th scope="row" className="wide">
        <code>{address}</code>
        {attribute === undefined ? ", all of it" : <>, attribute {attribute}</>}
      </th>
      <td>{now}</td>
      <td className="wide">{reason}</td>
      <td data-label="by">{actor}</td>
      <td data-label="counts again">
        <Time at={until} />
      </td>
      <td>
        {mayDo(caller, "deployer", place.project) && (
          <button
            type="button"
            disabled={heed.isPending}
            aria-label={`Count again: ${attribute ?? "all"} of ${address}`}
            onClick={() => heed.mutate()}
          >
            Count again
          </button>
        )}
        {heed.error !== null && <ProblemBox error={heed.error} />}
      </td>
    </tr>
  );
}

/** Whether what is ignored differs by the last check. */
function nowOf(
  { objects, ignored_objects: ignored = [] }: StackDrift,
  { address, attribute }: Ignore,
): string {
  const whole = ignored.find((one) => one.address === address);
  const part = objects.find((one) => one.address === address);
  if (whole?.deleted === true) return "gone";
  const names = [...(whole?.attributes ?? []), ...(part?.ignored_attributes ?? [])];
  const isOther = attribute === undefined ? names.length > 0 : names.includes(attribute);
  return isOther ? "differs" : "as recorded";
}
