"""Transforms from IR to IR, and analyses of IR."""

from treadle.passes.access import Access as Access
from treadle.passes.access import analyse as analyse
from treadle.passes.access import loads_of as loads_of
from treadle.passes.finite import check_floats as check_floats
from treadle.passes.order import read_after_write as read_after_write
from treadle.passes.pipeline import dump as dump
from treadle.passes.pipeline import dump_text as dump_text
from treadle.passes.pipeline import finish as finish
from treadle.passes.pipeline import prepare as prepare
from treadle.passes.places import Places as Places
from treadle.passes.places import first_places as first_places
from treadle.passes.required import required as required
