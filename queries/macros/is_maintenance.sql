-- macro: whether a reason that somebody set speaks of maintenance
-- param reason varchar: reason of a drain, a reservation or a cancel
regexp_matches(
    reason, '(?i)maint|firmware|\bfw\b|upgrade|\bupdate\b|patch|bios|reboot|planned|scheduled|decommission|re-?image|recabl|relocat')
and not regexp_matches(reason, '(?i)unplanned|unscheduled|unexpected|reboot (timed out|complete)')
