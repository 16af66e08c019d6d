#!/bin/sh
# Holds a job's scaling curve to the one that was agreed on; `guard.sh --update` agrees on a new one.
set -eu
: "${ORRERY:=orrery}"                        # the program
: "${JOB:=jobs/my_job.textproto}"            # with its own device and network files beside it, if any
: "${CURVE:=jobs/my_job.curve.json}"         # committed; a line a point, a law, an input
: "${DEVICES:=64,128,256,512}"
exec "$ORRERY" scale "$JOB" --devices "$DEVICES" --weak --baseline "$CURVE" --tolerance 1% "$@"
