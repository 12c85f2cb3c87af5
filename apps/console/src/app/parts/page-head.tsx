import { Fragment, type ReactNode, useEffect, useRef } from "react";

interface PageHeadProps {
  /** What the page is about; also the title of the window. */
  readonly title: string;
  /** Said before it in the title of the window, such as the tab. */
  readonly part?: string | undefined;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}

/** The heading of a page. Focus goes to it where the user came from another page. */
export function PageHead({ title, part, children, actions }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${part === undefined ? "" : `${part} – `}${title} – Stackwright`;
  }, [title, part]);
  useEffect(() => {
    // Not at the first page, and not away from a field that the user is typing in.
    if (document.activeElement === null || document.activeElement === document.body) return;
    if (document.activeElement.closest("main") !== null) return;
    heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <header className="page-head">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {title.split(/(?<=\/)/).map((piece, index) => (
            // An address is broken between its parts first.
            <Fragment key={`${index} ${piece}`}>
              {index > 0 && <wbr />}
              {piece}
            </Fragment>
          ))}
        </h1>
        {children}
      </div>
      {actions !== undefined && <div className="actions">{actions}</div>}
    </header>
  );
}
