import { Link } from "@tanstack/react-router";
import { cx } from "@/components/cx";

const PLACES = [["/users", "People"], ["/roles", "Roles"], ["/tenants", "Tenants"], ["/login", "Login"]] as const;

/** The pages of identity beside each other. */
export function PeopleNav({ here }: { here: "/users" | "/roles" | "/tenants" | "/login" }) {
  return (
    <nav aria-label="People and roles" className="inline-flex h-8 gap-0.5 rounded-md border border-line-strong bg-surface p-0.5 phone:h-10">
      {PLACES.map(([to, label]) => (
        <Link key={to} to={to} aria-current={to === here ? "page" : undefined} className={cx("inline-flex items-center rounded-sm px-2.5 text-small font-medium", to === here ? "bg-selected text-ink" : "text-ink-2 hover:text-ink")}>
          {label}
        </Link>
      ))}
    </nav>
  );
}
