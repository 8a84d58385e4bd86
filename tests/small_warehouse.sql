-- The story of small_warehouse.py, told as rows of the derived tables.
insert into sources (source_id, path, format, channel, host, bytes, lines, matched_lines, unmatched_lines, unparsed_lines, first_ts,
    last_ts, timezone, timezone_basis, year_assumed, status, reason, digest) values
('s1', 'logs/sacct.txt', 'sacct', 'accounting', null, 9000, 40, 39, 1, 0, '2026-03-02 00:00:00Z',
    '2026-03-16 00:00:00Z', 'UTC', 'configuration', false, 'used', null, 'd1'),
('s2', 'logs/messages-gpu-a01', 'syslog-rfc3164', 'kernel', 'gpu-a01', 52000, 500, 6, 493, 1, '2026-03-02 00:01:00Z',
    '2026-03-15 23:58:00Z', 'UTC', 'assumed: nothing tells', true, 'used', null, 'd2'),
('s3', 'logs/job-1.out', 'glog', 'job', null, 80000, 900, 12, 888, 0, '2026-03-02 00:02:00Z',
    '2026-03-15 23:59:00Z', 'UTC', 'inferred: offset written in other sources', false, 'used', null, 'd3'),
('s4', 'logs/photo.jpg', null, null, null, 400, 0, 0, 0, 0, null, null, null, null, null, 'unused',
    'no known format', 'd4'),
('s5', 'logs/old.gz', null, null, null, 20, 0, 0, 0, 0, null, null, null, null, null, 'failed',
    'gzip stream ends early', 'd5');
insert into attempts (attempt_id, run_id, job_id, restart_count, attempt_no, name, user_name, partition, state,
    exit_code, exit_signal, submit_ts, start_ts, end_ts, node_count, gpu_count, has_ended)
select 'a' || n, 'run-70b', '4101', n - 1, n, 'pretrain-70b', 'ada', 'train', state, exit_code, exit_signal,
    start_ts::timestamptz - interval 5 minutes, start_ts::timestamptz, end_ts::timestamptz, 4, 32, end_ts is not null
from (values
    (1, '2026-03-02 00:00:00Z', '2026-03-03 06:00:00Z', 'FAILED', 1, 0),
    (2, '2026-03-03 06:20:00Z', '2026-03-04 12:00:00Z', 'NODE_FAIL', 0, 0),
    (3, '2026-03-04 12:15:00Z', '2026-03-05 18:00:00Z', 'FAILED', 1, 0),
    (4, '2026-03-05 18:10:00Z', '2026-03-07 00:00:00Z', 'CANCELLED', 0, 15),
    (5, '2026-03-07 00:30:00Z', '2026-03-08 10:00:00Z', 'FAILED', 134, 0),
    (6, '2026-03-08 10:20:00Z', '2026-03-09 12:00:00Z', 'FAILED', 0, 6),
    (7, '2026-03-09 12:30:00Z', '2026-03-10 20:00:00Z', 'FAILED', 0, 6),
    (8, '2026-03-10 20:20:00Z', '2026-03-12 00:00:00Z', 'FAILED', 1, 0),
    (9, '2026-03-12 00:20:00Z', '2026-03-13 08:00:00Z', 'FAILED', 1, 0),
    (10, '2026-03-13 08:20:00Z', '2026-03-14 00:00:00Z', 'TIMEOUT', 0, 15),
    (11, '2026-03-14 00:20:00Z', null, 'RUNNING', null, null)
) as story (n, start_ts, end_ts, state, exit_code, exit_signal);
insert into attempts (attempt_id, run_id, job_id, restart_count, attempt_no, name, user_name, partition, state,
    start_ts, end_ts, node_count, gpu_count, has_ended)
values ('b1', 'run-eval', '4102', 0, 1, 'eval', 'bob', 'all', 'NODE_FAIL', '2026-03-03 00:00:00Z',
    '2026-03-06 00:00:00Z', 1, 8, true);
update attempts set elapsed_s = epoch(end_ts) - epoch(start_ts), basis = if(run_id = 'run-70b', 'accounting', 'job output');
insert into attempt_nodes (attempt_id, node, gpu_count) select attempt_id, 'gpu-a0' || node, 8
from attempts, range(1, 5) as nodes (node) where run_id = 'run-70b';
insert into attempt_nodes (attempt_id, node, gpu_count) values ('b1', 'gpu-b01', 8);
insert into runs (run_id, name, user_name, attempts, first_start_ts, last_end_ts, gpu_count, grouping) values
('run-70b', 'pretrain-70b', 'ada', 11, '2026-03-02 00:00:00Z', null, 32, 'requeue'),
('run-eval', 'eval', 'bob', 1, '2026-03-03 00:00:00Z', '2026-03-06 00:00:00Z', 8, 'single');
insert into exposure_daily (day, node, gpu_count, allocated_gpu_h, is_kernel_log_covered)
select day::date, 'gpu-a0' || node, 8, 192, true
from range(date '2026-03-02', date '2026-03-16', interval 1 day) as days (day), range(1, 5) as nodes (node);
insert into exposure_daily (day, node, gpu_count, allocated_gpu_h, is_kernel_log_covered)
select day::date, 'gpu-b01', 8, 192, false
from range(date '2026-03-03', date '2026-03-06', interval 1 day) as days (day);
insert into interruptions (interruption_id, attempt_id, run_id, job_id, ts, bucket, is_planned, kind, component, category,
    cause_group, confidence, silence, incident_id, node, gpu_index, first_fault_ts, next_start_ts, detected_ts,
    gpu_count, node_count, lost_gpu_h, lost_gpu_h_lo, lost_gpu_h_hi, grade, rule, why)
select 'i' || row_number() over (order by ts, attempt_id), attempt_id, run_id, job_id, ts, bucket, bucket = 'planned',
    story.kind, story.component, components.category, components.cause_group, confidence, silence, incident_id,
    story.node, gpu_index, ts - interval 2 minutes, next_start_ts::timestamptz, ts, gpu_count, node_count, lost, lost_lo,
    lost_hi, grade, rule, why
from (values
    ('a1', 'unplanned', 'fault', 'gpu.hbm', 'confirmed', null, 'n1', 'gpu-a01', 3, '2026-03-03 06:20:00Z', 20.5, 18.0,
        24.0, 'B', 'state FAILED / nvidia-xid: its own line', 'uncorrectable ECC error before the first symptom'),
    ('a2', 'unplanned', 'node_fail', 'gpu.device', 'confirmed', null, 'n2', 'gpu-a02', 0, '2026-03-04 12:15:00Z', 16.0,
        12.0, 18.0, 'B', 'state NODE_FAIL / nvidia-xid: its own line', 'GPU fell off the bus before the node went down'),
    ('a3', 'unplanned', 'fault', 'software.user_code', 'suspected', null, 'n3', null, null, '2026-03-05 18:10:00Z', 9.0,
        9.0, 9.0, 'A', 'state FAILED / python-exception: its own line', 'KeyError in the training script on every rank'),
    ('a4', 'planned', 'maintenance', null, null, null, null, null, null,
        '2026-03-07 00:30:00Z', 16.0, 16.0, 16.0, 'A', 'inside an announced window', 'inside an announced window'),
    ('a5', 'unplanned', 'fault', 'gpu.hbm', 'confirmed', null, 'n4', 'gpu-a01', 3, '2026-03-08 10:20:00Z', 20.5, 18.0,
        24.0, 'B', 'state FAILED / nvidia-xid: its own line', 'uncorrectable ECC error before the first symptom'),
    ('a6', 'unplanned', 'hang', 'unknown.collective_timeout', 'suspected', null, 'n5', null, null,
        '2026-03-09 12:30:00Z', 32.0, 20.0, 40.0, 'C', 'a collective timed out / pg-timeout: nothing but collective time-outs',
        'nothing but collective time-outs'),
    ('a7', 'unplanned', 'hang', 'network.link_switch', 'suspected', null, 'n6', 'gpu-a03', null, '2026-03-10 20:20:00Z',
        30.0, 20.0, 40.0, 'B', 'a collective timed out / nccl-ib-retry-exceeded: peers accuse it',
        'completion errors name gpu-a03'),
    ('a8', 'unplanned', 'fault', 'unattributed', 'unattributed', 'silent', null, null, null, '2026-03-12 00:20:00Z',
        12.0, 8.0, 16.0, 'B', 'state FAILED / none: nothing in the logs speaks for a cause',
        'nothing in the logs speaks for a cause'),
    ('a9', 'unplanned', 'fault', 'gpu.nvlink', 'confirmed', null, 'n7', 'gpu-a01', 5, '2026-03-13 08:20:00Z', 14.0, 11.0,
        17.0, 'B', 'state FAILED / nvidia-xid: its own line', 'NVLink error before the first symptom'),
    ('a10', 'policy', 'time_limit', null, null, null, null, null, null, '2026-03-14 00:20:00Z', null,
        null, null, '-', 'state TIMEOUT', 'state TIMEOUT'),
    ('b1', 'unplanned', 'node_fail', 'unknown.node_unresponsive', 'unattributed', 'no_data', null, 'gpu-b01', null, null,
        null, 0.0, 24.0, 'B', 'state NODE_FAIL / none: the scheduler lost a node and no log says which or why',
        'the scheduler lost a node and no log says which or why')
) as story (attempt_id, bucket, kind, component, confidence, silence, incident_id, node, gpu_index, next_start_ts, lost,
    lost_lo, lost_hi, grade, rule, why)
join (select attempt_id, run_id, job_id, end_ts as ts, gpu_count, node_count from attempts) as ended using (attempt_id)
left join components using (component);
insert into incidents (incident_id, first_fault_ts, component, cause_group, node, gpu_index, event_count, interruption_count,
    confidence)
select incident_id, min(first_fault_ts), any_value(component), any_value(cause_group), any_value(node),
    any_value(gpu_index), 2, count(*), any_value(confidence)
from interruptions where incident_id is not null group by incident_id;
insert into events (event_id, ts, ts_uncertainty_s, node, reporter, gpu_index, signature, kind, component, strength,
    severity, tier, code, repeat_count, message, fields, channel, source_id, line_no, line_count)
values
('e1', '2026-03-03 05:58:00Z', 1, 'gpu-a01', 'gpu-a01', 3, 'nvidia-xid', 'fault', 'gpu.hbm', 'direct', 'fatal', 2, '95', 1,
    'NVRM: Xid (PCI:0000:3b:00): 95, Uncontained ECC error', '{}', 'kernel', 's2', 120, 1),
('e2', '2026-03-03 05:59:00Z', 0.001, null, null, null, 'nccl-watchdog-timeout', 'symptom',
    'unknown.collective_timeout', 'symptom', 'error', 13, 'timeout', 1, 'Watchdog caught collective operation timeout',
    '{"op": "ALLREDUCE"}', 'job', 's3', 410, 1),
('e3', '2026-03-04 11:58:00Z', 1, 'gpu-a02', 'gpu-a02', 0, 'nvidia-xid', 'fault', 'gpu.device', 'direct', 'fatal', 1, '79', 1,
    'NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.', '{}', 'kernel', 's2', 240, 1),
('e4', '2026-03-08 09:58:00Z', 1, 'gpu-a01', 'gpu-a01', 3, 'nvidia-xid', 'fault', 'gpu.hbm', 'direct', 'fatal', 2, '95', 1,
    'NVRM: Xid (PCI:0000:3b:00): 95, Uncontained ECC error', '{}', 'kernel', 's2', 300, 1);
insert into interruption_events (interruption_id, event_id, role, delta_s) values
('i1', 'e1', 'trigger', -120), ('i1', 'e2', 'symptom', -60), ('i2', 'e3', 'trigger', -120), ('i6', 'e4', 'trigger', -120);
insert into hypotheses (interruption_id, rank, component, score, rule, is_selected, against, event_id, node, gpu_index) values
('i1', 1, 'gpu.hbm', 0.9, 'its own line', true, null, 'e1', 'gpu-a01', 3),
('i1', 2, 'unknown.collective_timeout', 0.1, 'nothing but collective time-outs', false, 'a symptom, and later', 'e2', null, null),
('i2', 1, 'gpu.device', 0.9, 'its own line', true, null, 'e3', 'gpu-a02', 0);
insert into losses (interruption_id, part, gpu_h, gpu_h_lo, gpu_h_hi, grade) values
('i1', 'hang', 0.5, 0.5, 0.5, 'A'), ('i1', 'rework', 9.5, 7.0, 13.0, 'B'), ('i1', 'restart', 10.5, 10.5, 10.5, 'A');
insert into episodes (episode_id, node, gpu_index, pci_bdf, signature, code, component, first_ts, last_ts, event_count,
    line_count) values
('p1', 'gpu-a01', 3, '0000:3b:00', 'nvidia-xid', '95', 'gpu.hbm', '2026-03-03 05:58:00Z', '2026-03-03 05:58:00Z', 1, 1),
('p2', 'gpu-a02', 0, '0000:1b:00', 'nvidia-xid', '79', 'gpu.device', '2026-03-04 11:58:00Z', '2026-03-04 11:58:00Z', 1, 1),
('p3', 'gpu-a01', 3, '0000:3b:00', 'nvidia-xid', '95', 'gpu.hbm', '2026-03-08 09:58:00Z', '2026-03-08 09:58:00Z', 1, 1),
('p4', 'gpu-a04', null, null, 'mlx5-link-down', null, 'network.link_switch', '2026-03-09 01:00:00Z',
    '2026-03-09 01:00:05Z', 3, 3);
insert into coverage (source_id, node, channel, first_ts, last_ts)
select 's2', node, 'kernel', min(day)::timestamptz, (max(day) + 1)::timestamptz
from exposure_daily where is_kernel_log_covered group by node;
insert into node_states (node, state, reason, start_ts, end_ts, set_by, is_planned) values
('gpu-a02', 'DOWN', 'Not responding', '2026-03-04 12:00:00Z', '2026-03-04 13:00:00Z', 'slurm', false);
insert into signatures (name, kind, component, strength, severity, tier, scope, meaning, action, origin) values
('nvidia-xid', 'fault', 'catalog', 'direct', 'fatal', 2, 'gpu', 'The driver reports a GPU fault.', 'See the code.', 'shipped'),
('nccl-watchdog-timeout', 'symptom', 'unknown.collective_timeout', 'symptom', 'error', 13, 'rank',
    'A collective did not finish in time.', 'Find the rank that did not join.', 'shipped');
insert into meta values ('version', '0.0'), ('built_ts', '2026-03-16T00:00:00Z');
