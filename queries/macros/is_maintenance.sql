-- macro: whether a reason that somebody set speaks of planned work, not of a fault, a repair or a health check
-- param reason varchar: reason of a drain, a reservation or a cancel
-- a word ends where letters end: reservations are named fw_upgrade or Maint2026; update_node is how the log says who set it
case
    -- what was not planned, is over, or means cables
    when regexp_matches(
        reason,
        '(?i)(^|[^a-z])((un|non-?|not )(planned|scheduled)|unexpected|emergency|urgent|reboot (timed out|complete)'
        || '|patch (panel|cable|cord)|after (\w+ ){0,3}(maint|fw|firmware|bios|upgrade|update|patch|reboot|re-?imag))'
    ) then false
    -- a plan that stands first tells what a fault beside it is about
    when regexp_matches(
        reason, '(?i)^[^a-z]*(planned|scheduled|routine|regular|weekly|monthly|quarterly|yearly|annual) maint'
    ) then true
    -- who names a fault did not plan it, nor does a health check
    when regexp_matches(
        reason,
        '(?i)(^|[^a-z])(nhc|health ?check|check_[a-z]+|s?xid|fault(s|y|ed)?|fail(s|ed|ing|ures?)?|errors?|bad|broken|dead|died'
        || '|hung|hang(s|ing)?|stuck|crash(ed|es|ing)?|panic(s|ked)?|mismatch|unresponsive|unreachable|(not|no) respon[a-z]+'
        || '|leak(s|ed|ing|age)?|overheat[a-z]*|lost|corrupt(ed|ion)?|uncorrectable|time(d )?-?outs?|fell off|fallen off)([^a-z]|$)'
    ) then false
    else regexp_matches(
        reason,
        '(?i)maint([ea]i?n[ae]nce)?([^a-z]|$)|(^|[^a-z])(firmware|fw|bios|upgrad(e|es|ed|ing)|updat(es|ed|ing)|patch(es|ed|ing)?'
        || '|re-?boot(s|ed|ing)?|planned|decommission(ed|ing)?|re-?imag(e|es|ed|ing)|re-?install(ed|ing)?'
        || '|re-?cabl(e|es|ed|ing)|relocat(e|es|ed|ing|ion))([^a-z]|$)|(^|[^a-z])update([^a-z_]|$)'
        || '|(^|[^a-z])scheduled (\w+ ){0,2}(work|outage|downtime|shut-?down|power|restart|servic|inspect|clean|test|move)'
    )
end
