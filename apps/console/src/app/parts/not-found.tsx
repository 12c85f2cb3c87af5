import { Link } from "@tanstack/react-router";
import { PageHead } from "./page-head.tsx";

/** For addresses that lead nowhere, and for what the reader may not see. */
export function NotFound() {
  return (
    <>
      <PageHead title="Not found" />
      <p>There is nothing at this address, or you may not see it.</p>
      <p>
        <Link to="/">Overview</Link>
      </p>
    </>
  );
}
